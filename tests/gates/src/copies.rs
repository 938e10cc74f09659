//! Gate 3: what of the opaque values may be there twice, may come of nothing, or may go to other threads.
//!
//! A token, an end, a region or a witness that is `Copy` or `Clone` is forged by whoever has one; `Default` makes one of nothing; and one that
//! is `Send` may be captured by a role or an elected thread, which is not the set that holds it. So each opaque type with one of
//! these traits stands in a reviewed list; what is not in it has none of them. Numbers and addresses are left out, whose bits mean no
//! more than themselves.

use std::collections::BTreeMap;

use rustdoc_types::Visibility;

use crate::constructors::plain;
use crate::opaque::{has, is_opaque};
use crate::surface::Surface;

/// The traits in question. `Sync` says as much as `Send` for what can be reached by a shared reference.
const TRAITS: [&str; 5] = ["Clone", "Copy", "Default", "Send", "Sync"];

/// What was found.
pub struct Holders {
    /// The lines for the list, each with file and line.
    pub findings: BTreeMap<String, String>,
    /// How many opaque types there are.
    pub types: usize,
}

/// Looks at all opaque types that a stranger can have a value of: also those that nobody can name.
pub fn search(surface: &Surface) -> Holders {
    let plain = plain(surface);
    let mut holders = Holders { findings: BTreeMap::new(), types: 0 };
    for item in surface.items() {
        let name = surface.place(item.id);
        let opaque = item.visibility == Visibility::Public && is_opaque(surface, item.id);
        if !opaque || plain.contains(&name) {
            continue;
        }
        holders.types += 1;
        let its: Vec<_> = TRAITS.into_iter().filter(|name| has(surface, item.id, name)).collect();
        if !its.is_empty() {
            let finding = format!("{name}: {}", its.join(", "));
            holders.findings.insert(finding, Surface::line(item));
        }
    }
    holders
}
