//! Programs that the types must refuse (`fail`), each named after the rule that it breaks, their
//! corrected twins (`pass`), and what else one could try (`attacks`), where the compiler's own
//! words do.
//!
//! The golden files change through `TRYBUILD=overwrite cargo test -p baton-host-types`.

use std::fs;
use std::path::{Path, PathBuf};

fn programs(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    found.sort();
    found
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

#[test]
fn compiler_agrees() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
    cases.compile_fail("attacks/*.rs");
}

/// Only what this crate says counts: not the places, and not what is quoted of the program.
#[test]
fn every_diagnostic_names_its_rule() {
    for path in programs("fail", "stderr") {
        let mut ours = String::new();
        let mut quotes_ours = false;
        for line in fs::read_to_string(&path).unwrap().lines() {
            let trimmed = line.trim_start();
            let place = trimmed.strip_prefix("--> ").or_else(|| trimmed.strip_prefix("::: "));
            let quote = trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
            if let Some(place) = place {
                quotes_ours = place.contains("host/src/");
            } else if quotes_ours || !(quote.starts_with('|') || quote == "...") {
                ours.push_str(line);
                ours.push('\n');
            }
        }
        let rule = stem(&path).split('_').next().unwrap();
        assert!(ours.contains(&format!("rule {rule}")), "{}: {ours}", path.display());
    }
}

#[test]
fn every_mistake_has_its_diagnostic_and_its_twin() {
    let names = |folder, extension| -> Vec<String> {
        programs(folder, extension).iter().map(|path| stem(path).to_owned()).collect()
    };
    let mistakes = names("fail", "rs");
    assert_eq!(mistakes, names("fail", "stderr"));
    assert_eq!(mistakes, names("pass", "rs"));
    for rule in ["G1", "G2", "G6"] {
        assert!(mistakes.iter().any(|name| name.starts_with(&format!("{rule}_"))), "{rule}");
    }
}
