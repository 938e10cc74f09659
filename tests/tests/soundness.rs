//! `docs/soundness.md`: each invariant is cited by the `// SAFETY:` comments of the modules that keep it (by other comments, where a
//! module has no unsafe code), and what is cited exists.
//!
//! The page's last table says which files cite an invariant; it is written by
//! `BATON_BLESS=1 cargo test -p baton-tests --test soundness`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use baton_tests::root;

/// Where the generated table begins.
const CITED: &str =
    "<!-- Generated: BATON_BLESS=1 cargo test -p baton-tests --test soundness -->\n";

/// The number of an invariant.
type Number = u32;

/// An invariant of the page: the modules of the device library that it names as its keepers.
struct Invariant {
    number: Number,
    keepers: Vec<String>,
}

/// The page as it is before it is written again.
fn page() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| {
        fs::read_to_string(root().join("docs/soundness.md")).expect("the page is there")
    })
}

/// The invariants, in the page's order: a paragraph that begins `**I7. `, perhaps below a heading, and the modules behind its
/// `*Kept by*`.
fn invariants(page: &str) -> Vec<Invariant> {
    page.split("\n\n")
        .filter_map(|paragraph| {
            let (before, invariant) = paragraph.split_once("**I")?;
            if !before.is_empty() && !before.starts_with('#') {
                return None;
            }
            let (number, _) = invariant.split_once(". ")?;
            let number = number.parse().expect("`**I` stands before a number");
            let (_, kept) = paragraph
                .split_once("*Kept by*")
                .unwrap_or_else(|| panic!("I{number} does not say who keeps it"));
            // The list of modules ends with its sentence.
            let end = [". ", ".\n"].iter().filter_map(|end| kept.find(end)).min();
            let list = &kept[..end.unwrap_or(kept.len())];
            let keepers = code_spans(list).filter(|span| files_of(span).next().is_some());
            Some(Invariant { number, keepers: keepers.map(str::to_owned).collect() })
        })
        .collect()
}

/// What stands between backticks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The source files of a module of the device library, those of its submodules included.
fn files_of(module: &str) -> impl Iterator<Item = PathBuf> {
    let source = root().join("kernel-lib/src");
    let mut files = Vec::new();
    let file = source.join(module).with_extension("rs");
    if file.is_file() {
        files.push(file);
    }
    if source.join(module).is_dir() {
        rust_files(&source.join(module), &mut files);
    }
    files.into_iter()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The invariants that the `// SAFETY:` comments of a source file cite, `(I7)` or `(I7, I9)`; all of its comments, where it has
/// none of those.
fn cited(source: &str) -> BTreeSet<Number> {
    let mut cited = BTreeSet::new();
    let without_unsafe = !source.contains("// SAFETY:");
    let mut argues = without_unsafe;
    for line in source.lines() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            argues = without_unsafe;
            continue;
        };
        argues |= comment.trim_start().starts_with("SAFETY:");
        if argues {
            cited.extend(citations(comment));
        }
    }
    cited
}

fn citations(comment: &str) -> impl Iterator<Item = Number> {
    let parentheses = comment.split('(').skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    parentheses.flat_map(|inside| {
        let numbers: Option<Vec<Number>> =
            inside.split(", ").map(|part| part.strip_prefix('I')?.parse().ok()).collect();
        numbers.unwrap_or_default()
    })
}

/// For each source file of the device library, by its path below `src`, what it cites.
fn citing() -> BTreeMap<PathBuf, BTreeSet<Number>> {
    let source = root().join("kernel-lib/src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let of_file = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("a readable source file");
        (file.strip_prefix(&source).expect("a file below the folder").to_owned(), cited(&text))
    };
    files.into_iter().map(of_file).collect()
}

#[test]
fn what_is_cited_is_on_the_page() {
    let known: BTreeSet<Number> = invariants(page()).iter().map(|i| i.number).collect();
    let citing = citing();
    let unknown: Vec<_> = citing.iter().filter(|(_, cited)| !cited.is_subset(&known)).collect();
    assert!(unknown.is_empty(), "invariants that docs/soundness.md does not have: {unknown:?}");
}

#[test]
fn each_keeper_cites_what_it_keeps() {
    let invariants = invariants(page());
    let expected: Vec<Number> = (1..=invariants.len() as Number).collect();
    assert_eq!(
        invariants.iter().map(|i| i.number).collect::<Vec<_>>(),
        expected,
        "numbered in order"
    );
    let mut silent = Vec::new();
    for Invariant { number, keepers } in &invariants {
        assert!(!keepers.is_empty(), "I{number} names no module of kernel-lib");
        for keeper in keepers {
            let cites = files_of(keeper).any(|file| {
                cited(&fs::read_to_string(file).expect("a readable source file")).contains(number)
            });
            if !cites {
                silent.push(format!("{keeper}: (I{number})"));
            }
        }
    }
    assert!(
        silent.is_empty(),
        "modules without a `// SAFETY:` that cites the invariant that docs/soundness.md says they keep: {silent:#?}"
    );
}

#[test]
fn the_page_says_who_cites() {
    let page = page();
    let (text, _) = page.split_once(CITED).expect("the page has a table of citations");
    let mut table = String::from("| invariant | cited in |\n|---|---|\n");
    let citing = citing();
    for Invariant { number, .. } in invariants(text) {
        let files = citing.iter().filter(|(_, cited)| cited.contains(&number)).map(|(file, _)| {
            let name = file.with_extension("");
            format!("[{}](../kernel-lib/src/{})", name.display(), file.display())
        });
        let files: Vec<_> = files.collect();
        writeln!(table, "| I{number} | {} |", files.join(", ")).expect("a String takes all");
    }
    let follows = format!("{text}{CITED}{table}");
    if std::env::var_os("BATON_BLESS").is_some() {
        fs::write(root().join("docs/soundness.md"), follows).expect("the page can be written");
        return;
    }
    assert_eq!(page, follows, "BATON_BLESS=1 cargo test -p baton-tests --test soundness");
}

#[test]
fn citations_are_read_from_arguments_alone() {
    let source = "// SAFETY: in range, and this thread's own (I16); the set holds the\n// array (I13, I14).\nlet x = 1;\n// (I3)\n";
    assert_eq!(cited(source), BTreeSet::from([13, 14, 16]));
    assert_eq!(cited("// SAFETY: by 1 (ISA 8.9.4), (Interval), (I2"), BTreeSet::new());
    assert_eq!(
        cited("/// The table is all there is (I15).\nmod sealed {}\n"),
        BTreeSet::from([15])
    );
}
