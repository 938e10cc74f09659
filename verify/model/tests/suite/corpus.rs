//! Every file of tests/litmus says what the model answers; and the generated files are up to date.

use std::fs;
use std::path::{Path, PathBuf};

use baton_model::litmus::{Expect, Test};
use baton_model::{Options, judge};

use crate::families;

/// The corpus' folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/litmus")
}

/// All tests of the corpus with their paths below it.
pub fn tests() -> Vec<(String, Test)> {
    let mut files = vec![];
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the corpus is there") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "litmus") {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
        let text = fs::read_to_string(path).expect("a readable file");
        (name.clone(), Test::parse(&text, &name).unwrap_or_else(|error| panic!("{error}")))
    };
    files.iter().map(read).collect()
}

#[test]
fn the_corpus_gets_the_verdicts_that_its_files_argue_for() {
    let mut wrong = vec![];
    let tests = tests();
    assert!(tests.len() >= 400, "only {} files", tests.len());
    for (file, test) in tests {
        let expect = test.expect.unwrap_or_else(|| panic!("{file} has no `expect:`"));
        let race = test.race.unwrap_or_else(|| panic!("{file} has no `race:`"));
        assert!(!test.comment.is_empty(), "{file} argues for nothing");
        match judge(&test.program, &test.condition, &Options::default()) {
            Err(error) => wrong.push(format!("{file}: {error}")),
            Ok(verdict) => {
                if verdict.allowed != (expect == Expect::Allowed) {
                    wrong.push(format!("{file}: expected {expect}"));
                }
                if verdict.race != Some(race) {
                    wrong.push(format!("{file}: race {:?}, expected {race}", verdict.race));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn generated_files_are_up_to_date() {
    let folder = root().join("families");
    let files = families::all();
    if std::env::var_os("BATON_BLESS").is_some() {
        // In place: other tests read the corpus at the same time.
        fs::create_dir_all(&folder).expect("a writable corpus");
        for file in &files {
            let path = folder.join(format!("{}.litmus", file.name));
            if fs::read_to_string(&path).ok().as_ref() != Some(&file.text) {
                fs::write(path, &file.text).expect("a writable corpus");
            }
        }
    }
    let present = fs::read_dir(&folder).expect("BATON_BLESS=1 writes them").count();
    assert_eq!(present, files.len(), "files that no family makes: BATON_BLESS=1 writes them again");
    for file in &files {
        let path = folder.join(format!("{}.litmus", file.name));
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(text == file.text, "{} differs: BATON_BLESS=1 writes it again", path.display());
    }
}
