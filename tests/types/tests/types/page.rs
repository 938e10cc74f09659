//! `docs/rules.md`: each rule, where it is enforced, and what shows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus::{Corpus, programs_of};
use crate::diagnostic::{has_word, library_text};
use crate::rules::{ALL, How, Rule, UNSEEN};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What shows a rule, by path from the root.
pub struct Shown {
    /// Source files whose diagnostics name it.
    pub enforced: Vec<String>,
    /// Programs that must not compile.
    pub mistakes: Vec<String>,
    /// Attacks that its diagnostics stop.
    pub attacks: Vec<String>,
    /// Programs of the emulator that make the mistake in PTX.
    pub emulator: Vec<String>,
    /// Litmus tests.
    pub model: Vec<String>,
    /// Other tests.
    pub tests: Vec<String>,
}

/// What shows each rule.
pub fn shown() -> Vec<(&'static Rule, Shown)> {
    let root = root();
    let sources = sources(&root);
    let mut mistakes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in Corpus::read().mistakes {
        let path = format!("tests/compile-fail/{}.rs", case.name);
        mistakes.entry(case.rule).or_default().push(path);
    }
    for path in programs_of(&root.join("host/types/fail")) {
        let name = stem(&path);
        let rule = name.split('_').next().unwrap_or_default().to_owned();
        mistakes.entry(rule).or_default().push(format!("host/types/fail/{name}.rs"));
    }
    let attacks: Vec<(String, String)> = programs_of(&root.join("tests/attacks"))
        .iter()
        .map(|path| (stem(path), library_text(&read(&path.with_extension("stderr")))))
        .collect();

    let hazards = hazards();

    let of_rule = |rule: &'static Rule| Shown {
        enforced: sources
            .iter()
            .filter(|(_, code)| has_word(code, rule.id))
            .map(|(path, _)| path.clone())
            .collect(),
        mistakes: mistakes.remove(rule.id).unwrap_or_default(),
        attacks: attacks
            .iter()
            .filter(|(_, text)| has_word(text, rule.id))
            .map(|(name, _)| format!("tests/attacks/{name}.rs"))
            .collect(),
        emulator: hazards
            .iter()
            .filter(|name| name.split('_').next() == Some(rule.id))
            .map(|name| format!("verify/emulator/tests/hazards/{name}.ptx"))
            .collect(),
        model: rule.model.iter().map(|name| format!("tests/litmus/{name}.litmus")).collect(),
        tests: {
            let mut files: Vec<String> =
                rule.tests.iter().map(|(file, _)| (*file).to_owned()).collect();
            files.dedup();
            files
        },
    };
    let mut of_rule = of_rule;
    ALL.iter().map(|rule| (rule, of_rule(rule))).collect()
}

/// Names of the emulator's programs that make a mistake; each begins with its rule.
pub fn hazards() -> Vec<String> {
    let folder = root().join("verify/emulator/tests/hazards");
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a readable folder")
        .map(|entry| stem(&entry.expect("a readable entry").path()))
        .collect();
    names.sort();
    names
}

/// Why the emulator has no program of a rule.
pub fn unseen(rule: &Rule) -> Option<&'static str> {
    UNSEEN.iter().find(|(id, _)| *id == rule.id).map(|(_, why)| *why)
}

/// The library's source files, each with what of it a diagnostic can quote: code, and comments behind code.
fn sources(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in ["kernel-lib/src", "host/src"] {
        rust_files(&root.join(folder), &mut files);
    }
    files.sort();
    let quotable = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let relative = |path: &Path| {
        let path = path.strip_prefix(root).expect("a file below the root");
        path.to_string_lossy().into_owned()
    };
    files.iter().map(|path| (relative(path), quotable(&read(path)))).collect()
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

/// The page as it should be.
pub fn page() -> String {
    let mut page = String::from(HEAD);
    let mut letter = "";
    for (rule, shown) in shown() {
        if &rule.id[..1] != letter {
            letter = &rule.id[..1];
            let title =
                SECTIONS.iter().find(|(of, _)| *of == letter).map_or("", |(_, title)| title);
            let _ = write!(page, "\n## {title}\n\n{TABLE}");
        }
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            rule.id,
            rule.sequence,
            rule.how.text(),
            files(&shown.enforced),
            names(&shown.mistakes, ""),
            names(&shown.attacks, ""),
            run_time(rule, &shown),
        );
    }
    page
}

fn run_time(rule: &Rule, shown: &Shown) -> String {
    let mut parts = vec![
        names(&shown.emulator, "emulator: "),
        names(&shown.model, "model: "),
        names(&shown.tests, "test: "),
    ];
    parts.extend(unseen(rule).map(|why| format!("emulator: none, since {why}")));
    parts.push(rule.excuse.to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// Links that show the names of the files.
fn names(paths: &[String], what: &str) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let link = |path: &String| format!("[{}](../{path})", stem(Path::new(path)));
    format!("{what}{}", paths.iter().map(link).collect::<Vec<_>>().join(", "))
}

/// Links that show which module it is.
fn files(paths: &[String]) -> String {
    let link = |path: &String| {
        let module = path.replace("/src/", "/").replace("kernel-lib/", "").replace(".rs", "");
        format!("[{module}](../{path})")
    };
    paths.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read `{}`: {error}", path.display()))
}

/// What a rule lacks that its kind of rule must have.
pub fn lacks(rule: &Rule, shown: &Shown) -> Option<&'static str> {
    if !rule.excuse.is_empty() {
        return None;
    }
    let typed = !matches!(rule.how, How::Static | How::Dynamic);
    if typed && shown.mistakes.is_empty() {
        Some("no program that must not compile")
    } else if typed && shown.enforced.is_empty() {
        Some("no diagnostic of the library that names it")
    } else if !typed && shown.emulator.is_empty() && shown.tests.is_empty() {
        Some("no test at run time")
    } else {
        None
    }
}

const HEAD: &str = "\
# The rules and what shows them

Each row is a sequence that the PTX memory model, the tcgen05 model or the reservation model forbids, or that real
kernels got wrong. Rules that **types** enforce have a program that makes the mistake and must not compile
(`tests/compile-fail`, with its diagnostic), and a corrected twin under the same name (`tests/compile-pass`). Attacks are
programs in safe code that try to get around the types, and are stopped by a diagnostic that names the rule. The last
column has what shows the rule below the types: programs in PTX that the emulator reports, litmus tests of the memory
model, and other tests.

This page is written by a test from the programs themselves: `BATON_BLESS=1 cargo test -p baton-type-tests`.
";

const SECTIONS: [(&str, &str); 7] = [
    ("A", "Release and acquire"),
    ("B", "Proxies"),
    ("C", "mbarrier"),
    ("D", "tcgen05"),
    ("E", "wgmma"),
    ("F", "CTA, cluster, grid"),
    ("G", "Host: reservations"),
];

const TABLE: &str = "\
| rule | what must not be written | caught by | enforced in | programs | attacks | below the types |
|---|---|---|---|---|---|---|
";
