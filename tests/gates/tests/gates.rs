//! The gates: what safe code of another crate could make of the device library's surface, beyond what the library means it to.
//!
//! Each gate compares what it finds with a page in `reviewed`. `holes` is a library that has each kind of hole on purpose, and shows
//! that the gates see them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use baton_gates::surface::{Library, Surface, root};
use baton_gates::{constructors, copies, foreign, reviewed};

static BATON: LazyLock<Surface> = LazyLock::new(|| surface(&Library::baton()));
static HOLES: LazyLock<Surface> = LazyLock::new(|| surface(&holes()));

fn surface(library: &Library) -> Surface {
    Surface::read(library).unwrap_or_else(|problem| panic!("{problem}"))
}

/// The library with holes. Its manifest stands in the target folder, so that no lock file has to be kept.
fn holes() -> Library {
    let folder = root().join("target/baton-gates/holes");
    fs::create_dir_all(&folder).expect("a folder");
    let source = root().join("tests/gates/holes/lib.rs").canonicalize().expect("the holes");
    let manifest = format!(
        "[package]\nname = \"holes\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[lib]\npath = {source:?}\n"
    );
    // Cargo looks at the time of the manifest.
    let file = folder.join("Cargo.toml");
    if fs::read_to_string(&file).ok().as_ref() != Some(&manifest) {
        fs::write(&file, manifest).expect("a manifest");
    }
    Library::new("holes", "holes", folder.canonicalize().expect("a folder"))
}

/// Fails unless a page of `reviewed` has the findings.
fn agree(page: &str, found: &BTreeMap<String, String>, remedy: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("reviewed").join(page);
    if let Err(differs) = reviewed::compare(&page, found, remedy) {
        panic!("{differs}");
    }
}

#[test]
fn strangers_implement_only_what_is_harmless() {
    let cases = foreign::cases(&BATON);
    let outcome = foreign::judge(&Library::baton(), &cases);
    println!(
        "{} impls of {} traits tried, or asked for, in {} rounds; {} to be argued for",
        outcome.tried,
        outcome.traits,
        outcome.rounds,
        outcome.open.len()
    );
    assert!(outcome.traits > 180 && outcome.tried > 1000, "the gate looks at less than it did");
    let users = |id| format!("asked for by {}", BATON.users(id).join(", "));
    let open = outcome.open.iter().map(|(head, id)| (head.clone(), users(*id)));
    agree(
        "foreign-impls.md",
        &open.collect(),
        "rustc takes an `impl` of a crate that is not ours, or the library has already made it for that crate's type. Seal the trait: a supertrait `pub(crate)`, or in a private module, and with the \
         same type parameters; or add the line to that page, below a sentence that says why such an impl does no harm.",
    );
}

#[test]
fn safe_functions_make_nothing_of_nothing() {
    let search = constructors::search(&BATON);
    println!(
        "{} safe functions, {} of which make something opaque; {} to be argued for",
        search.functions,
        search.makers,
        search.findings.len()
    );
    assert!(search.functions > 600 && search.makers > 120, "the gate looks at less than it did");
    agree(
        "constructors.md",
        &search.findings,
        "Make the function `unsafe`, or `pub(crate)`, or let it take what it is made from by value; or add the line to that page, below a \
         sentence that says why it does no harm. A function of a trait in a private module can be called through a bound on a public \
         trait that is built on it, unless the former is `pub(crate)`.",
    );
}

#[test]
fn what_may_be_copied_or_sent_is_known() {
    let holders = copies::search(&BATON);
    println!("{} opaque types, {} listed", holders.opaque.len(), holders.findings.len());
    assert!(holders.opaque.len() > 90, "the gate looks at less than it did");
    agree(
        "copies.md",
        &holders.findings,
        "Take the trait from the type (`StaysWithItsThreads` makes it not `Send`), or change the line on that page, below a sentence that \
         says why a second one, or one in other threads, does no harm.",
    );
}

/// The types that a list of the device library's own test asserts something of.
fn asserted(text: &str, list: &str) -> BTreeSet<String> {
    let Some((_, list)) = text.split_once(&format!("\n{list}! {{\n")) else {
        return BTreeSet::new();
    };
    let lines = list.lines().take_while(|line| *line != "}").map(str::trim);
    lines
        .filter(|line| line.starts_with("baton::"))
        .map(|line| line.split(['<', ',']).next().unwrap_or(line).to_owned())
        .collect()
}

#[test]
fn handles_are_asserted() {
    let file = "kernel-lib/tests/handles.rs";
    let text = fs::read_to_string(root().join(file)).expect("the assertions");
    let holders = copies::search(&BATON);
    let lists: [(&str, &[&str]); 4] = [
        ("stays", &[]),
        ("moves", &["Send", "Sync"]),
        ("copies", &["Clone", "Copy", "Send", "Sync"]),
        ("begins_empty", &["Default", "Send", "Sync"]),
    ];
    let mut wrong = Vec::new();
    for name in &holders.named {
        let traits = &holders.opaque[name];
        if !lists.iter().any(|(_, its)| traits == its) {
            wrong.push(format!("{name} is {}, for which there is no list", traits.join(", ")));
        }
    }
    for (list, its) in lists {
        let there = asserted(&text, list);
        let is = |name: &&String| holders.opaque[*name] == its;
        let expected: BTreeSet<String> = holders.named.iter().filter(is).cloned().collect();
        assert!(!expected.is_empty(), "no type is for the list `{list}`");
        wrong.extend(expected.difference(&there).map(|name| format!("`{list}` lacks {name}")));
        wrong.extend(there.difference(&expected).map(|name| format!("`{list}` has {name}")));
    }
    assert!(
        wrong.is_empty(),
        "{file} asserts of each opaque type that users can name what it must not be (`stays`, `moves`, `copies`, \
         `begins_empty`):\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_hole_for_an_impl_is_seen() {
    let outcome = foreign::judge(&holes(), &foreign::cases(&HOLES));
    let open: BTreeSet<&str> = outcome.open.keys().map(String::as_str).collect();
    let expected = [
        "already holes::path::OfAll for &'static Local",
        "already holes::path::OfAll for Local",
        "already holes::path::OfAll for dyn Own",
        "already holes::path::OfSized for &'static Local",
        "already holes::path::OfSized for Local",
        "holes::path::BuiltOnAFact for &'static Local",
        "holes::path::BuiltOnAFact for Local",
        "holes::path::Fact for &'static Local",
        "holes::path::Fact for Local",
        "holes::path::Fact for dyn Own",
        "holes::path::HandsOnTo<Local> for holes::path::Fenced",
        "holes::path::HandsOnTo<Local> for holes::path::Written",
        "holes::path::OfSized for dyn Own",
        "holes::path::Ordered<holes::path::Written> for &'static Local",
        "holes::path::Ordered<holes::path::Written> for Local",
        "holes::path::Ordered<holes::path::Written> for dyn Own",
        "holes::support::Hidden for &'static Local",
        "holes::support::Hidden for Local",
        "holes::support::Hidden for dyn Own",
    ];
    assert_eq!(open, BTreeSet::from(expected));
}

#[test]
fn a_hole_that_makes_something_is_seen() {
    let search = constructors::search(&HOLES);
    let found: BTreeSet<&str> = search.findings.keys().map(String::as_str).collect();
    let expected = [
        "is hidden: holes::support::Followers::of -> Region, Warp",
        "is hidden: holes::support::Region::again -> Region",
        "is hidden: holes::support::Region::go_on -> Region",
        "is hidden: holes::support::Region::lend -> Region",
        "is hidden: holes::support::Region::of_threads -> Region",
        "is hidden: holes::support::Region::renew",
        "is hidden: holes::support::ask -> Region",
        "makes of a shared reference: <holes::token::Twice as core::clone::Clone>::clone -> Twice",
        "makes of a shared reference: holes::support::Region::again -> Region",
        "makes of a token: holes::support::Region::of_threads -> Region",
        "makes of nothing: holes::path::sealed::Makes::make -> Warp",
        "makes of nothing: holes::support::Followers::of -> Region, Warp",
        "makes of nothing: holes::support::Region::lend -> Region",
        "makes of nothing: holes::support::ask -> Region",
        "takes an address: holes::support::Followers::of -> Region, Warp",
        "takes an address: holes::support::ask -> Region",
    ];
    assert_eq!(found, BTreeSet::from(expected));
}

#[test]
fn a_copy_is_seen() {
    let holders = copies::search(&HOLES);
    let found: BTreeSet<&str> = holders.findings.keys().map(String::as_str).collect();
    let expected = [
        "anyone makes one: holes::support::Answer",
        "anyone makes one: holes::token::Open",
        "holes::support::Region: Send, Sync",
        "holes::token::Twice: Clone",
        "holes::token::Wandering: Send, Sync",
    ];
    assert_eq!(found, BTreeSet::from(expected));
}
