//! Gate 3: what there may be two of, what may go to other threads, and what anyone may make.
//!
//! A token, an end, a region or a witness that is `Copy` or `Clone` is forged by whoever has one; `Default` makes one of nothing; and one that
//! is `Send` may be captured by a role or an elected thread, which is not the set that holds it. So each opaque type with one of
//! these traits stands in a reviewed list; what is not in it has none of them. Numbers and addresses are left out, whose bits mean no
//! more than themselves.
//!
//! A type that is not opaque is no promise, because a literal makes one. Lest one should become so that is meant as a promise, those that
//! are not `Copy`, or that have a lifetime, stand in the list as well.

use std::collections::{BTreeMap, BTreeSet};

use rustdoc_types::{GenericParamDefKind, Generics, Item, ItemEnum, Visibility};

use crate::constructors::plain;
use crate::opaque::{has, is_opaque};
use crate::surface::{Surface, is_hidden};

/// The traits in question. `Sync` says as much as `Send` for what can be reached by a shared reference.
const TRAITS: [&str; 5] = ["Clone", "Copy", "Default", "Send", "Sync"];

/// What was found.
#[derive(Default)]
pub struct Holders {
    /// The lines for the list, each with file and line.
    pub findings: BTreeMap<String, String>,
    /// The opaque types, each with those of the traits that it has.
    pub opaque: BTreeMap<String, Vec<&'static str>>,
    /// Those of them that users can name: they have a public path, and are documented.
    pub named: BTreeSet<String>,
}

/// Looks at all types that a stranger can have a value of: also those that nobody can name.
pub fn search(surface: &Surface) -> Holders {
    let plain = plain(surface);
    let mut holders = Holders::default();
    for item in surface.items().filter(|item| item.visibility == Visibility::Public) {
        let name = surface.place(item.id);
        let finding = if !is_opaque(surface, item.id) {
            is_promise(surface, item).then(|| format!("anyone makes one: {name}"))
        } else if plain.contains(&name) {
            None
        } else {
            let mut its: Vec<_> = TRAITS.into_iter().filter(|t| has(surface, item.id, t)).collect();
            holders.opaque.insert(name.clone(), its.clone());
            if surface.is_documented(item.id) {
                holders.named.insert(name.clone());
            }
            if is_hidden(item) {
                // rustdoc does not say whether such a type is `Send`.
                its.push("hidden");
            }
            (!its.is_empty()).then(|| format!("{name}: {}", its.join(", ")))
        };
        if let Some(finding) = finding {
            holders.findings.insert(finding, Surface::line(item));
        }
    }
    holders
}

/// Whether a type that anyone makes looks as if it were to say something: it does not copy, or it is tied to a lifetime.
fn is_promise(surface: &Surface, item: &Item) -> bool {
    let tied = |generics: &Generics| {
        let mut kinds = generics.params.iter().map(|param| &param.kind);
        kinds.any(|kind| matches!(kind, GenericParamDefKind::Lifetime { .. }))
    };
    let generics = match &item.inner {
        ItemEnum::Struct(struct_) => &struct_.generics,
        ItemEnum::Enum(enum_) if !enum_.variants.is_empty() => &enum_.generics,
        _ => return false,
    };
    tied(generics) || !has(surface, item.id, "Copy")
}
