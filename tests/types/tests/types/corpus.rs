//! The files of the three sets.

use std::fs;
use std::path::{Path, PathBuf};

/// Rules that the types of this crate enforce; each must be broken by a program of its own.
pub const RULES: &[&str] = &[
    "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10", "A11", "A12", "A13", "A14", "B1",
    "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B11", "C1", "C2", "C3", "C4", "C5",
    "C6", "C7", "C8", "C9", "C10", "C11", "C12", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8",
    "D9", "D10", "D11", "D12", "D13", "D14", "D16", "E1", "E2", "E3", "E4", "F1", "F2", "F3", "F6",
    "F7", "F8", "F9",
];

/// All programs and what does not belong to one.
pub struct Corpus {
    /// `compile-fail`.
    pub mistakes: Vec<Case>,
    /// `compile-pass`.
    pub twins: Vec<Case>,
    /// Programs without a golden file, golden files without a program, and anything else.
    pub orphans: Vec<PathBuf>,
}

/// One program, `RULE_what.rs`.
pub struct Case {
    /// Id of the rule, e.g. `D1`.
    pub rule: String,
    /// File name without the extension.
    pub name: String,
    /// The program.
    pub path: PathBuf,
}

impl Case {
    /// The program's text.
    pub fn source(&self) -> String {
        read(&self.path)
    }

    /// The expected diagnostic.
    pub fn golden(&self) -> String {
        read(&self.path.with_extension("stderr"))
    }
}

impl Corpus {
    /// Reads the folders. A program whose name is not `RULE_what.rs` is an orphan.
    pub fn read() -> Self {
        let tests = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let mut orphans = Vec::new();
        let mut rules = |folder: &str, golden: bool| -> Vec<Case> {
            let mut cases = Vec::new();
            for path in programs(&tests.join(folder), golden, &mut orphans) {
                match case(&path) {
                    Some(case) => cases.push(case),
                    None => orphans.push(path),
                }
            }
            cases
        };
        let mistakes = rules("compile-fail", true);
        let twins = rules("compile-pass", false);
        programs(&tests.join("attacks"), true, &mut orphans);
        Self { mistakes, twins, orphans }
    }
}

/// The programs of a folder that have a golden file.
pub fn programs_of(folder: &Path) -> Vec<PathBuf> {
    programs(folder, true, &mut Vec::new())
}

/// The programs of a folder; files that are no program, or lack their partner, go to `orphans`.
fn programs(folder: &Path, golden: bool, orphans: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read `{}`: {error}", folder.display()));
    let mut programs = Vec::new();
    for entry in entries {
        let path = entry.expect("the folder is readable").path();
        let partner = |extension| path.with_extension(extension).is_file();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") if !golden || partner("stderr") => programs.push(path),
            Some("stderr") if golden && partner("rs") => {}
            // Keeps the folder in git while it is empty.
            _ if path.ends_with(".gitkeep") => {}
            _ => orphans.push(path),
        }
    }
    programs.sort();
    programs
}

fn case(path: &Path) -> Option<Case> {
    let name = path.file_stem()?.to_str()?;
    let (rule, what) = name.split_once('_')?;
    let (letter, number) = rule.split_at_checked(1)?;
    let id = letter.bytes().all(|byte| byte.is_ascii_uppercase()) && number.parse::<u8>().is_ok();
    (id && !what.is_empty()).then(|| Case {
        rule: rule.to_owned(),
        name: name.to_owned(),
        path: path.to_owned(),
    })
}

fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read `{}`: {error}", path.display()))
}
