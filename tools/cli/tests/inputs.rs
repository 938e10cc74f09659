//! Whatever a file holds, reading it ends with what it says or with an error: every PTX file, launch description and litmus
//! test of the repository, cut off, spliced into another one, with random bytes, with deep nesting and with huge numbers.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton_campaign::{Campaign, Random};
use baton_cli::commands::check::spec::Spec;
use baton_emulator::Program;
use baton_model::litmus::Test;
use baton_ptx::lines::LineTable;

/// What one file may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Characters of a file that are looked at.
const CUT: usize = 30_000;

/// What is put into a file, some of it many times.
const PIECES: [&str; 34] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "@",
    "!",
    "|",
    ";",
    ",",
    ".",
    ":",
    "-",
    "+",
    "=",
    "\"",
    "'",
    "//",
    "/*",
    "\\",
    "\n",
    "\0",
    "é",
    "\u{202e}",
    "0",
    "-1",
    "18446744073709551616",
    "0x",
    "1e999",
    "%r",
    "generic(",
];

fn files() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of the repository").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
                walk(&path, all);
            } else if path.is_file() && reader(&path).is_some() {
                all.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let text = |path: PathBuf| Some((path.clone(), fs::read_to_string(path).ok()?));
    paths.into_iter().filter_map(text).collect()
}

/// Whether a text could be used.
type Reader = fn(&str) -> bool;

/// Who reads files of this kind.
fn reader(path: &Path) -> Option<Reader> {
    let reader: Reader = match path.extension()?.to_str()? {
        "ptx" => |text| {
            let lines = LineTable::parse(text).ok();
            Program::load(text, "a file", lines).is_ok()
        },
        "toml" => |text| match Spec::parse(text) {
            Ok(_) => true,
            Err(error) => {
                let (line, column) = error.place(text);
                assert!(line >= 1 && column >= 1, "an error has a place");
                false
            }
        },
        "litmus" => |text| Test::parse(text, "a file").is_ok(),
        _ => return None,
    };
    Some(reader)
}

fn change(text: &str, other: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().take(CUT).collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(chars.len() + 1);
        let end = (at + random.below(40)).min(chars.len());
        match random.below(8) {
            0 => chars.truncate(at),
            1 => drop(chars.drain(at..end)),
            2 => {
                let others: Vec<char> = other.chars().take(CUT).collect();
                let from = random.below(others.len() + 1);
                let to = (from + random.below(400)).min(others.len());
                drop(chars.splice(at..end, others[from..to].iter().copied()));
            }
            3 => {
                let bytes: Vec<u8> = (0..random.below(12)).map(|_| random.next() as u8).collect();
                let noise = String::from_utf8_lossy(&bytes).into_owned();
                drop(chars.splice(at..at, noise.chars()));
            }
            4 => {
                // Deep nesting.
                let piece = PIECES[random.below(PIECES.len())];
                let times = [2, 70, 5_000, 100_000][random.below(4)];
                drop(chars.splice(at..at, piece.repeat(times).chars()));
            }
            5 => {
                let digit = (at..chars.len()).find(|&i| chars[i].is_ascii_digit());
                if let Some(i) = digit {
                    let huge =
                        ["4294967295", "9223372036854775807", "99999999999999999999999", "0"];
                    drop(chars.splice(i..=i, huge[random.below(4)].chars()));
                }
            }
            6 => {
                let copied: Vec<char> = chars[at..end].to_vec();
                drop(chars.splice(at..at, copied));
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                drop(chars.splice(at..end, piece.chars()));
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn reading_ends_with_what_a_file_says_or_with_an_error() {
    let files = files();
    let of =
        |end: &str| files.iter().filter(|(p, _)| p.extension().is_some_and(|e| e == end)).count();
    let counts = [of("ptx"), of("toml"), of("litmus")];
    assert!(counts.iter().all(|&count| count > 5), "{counts:?}");
    let campaign = Campaign::new("changed files of all kinds", 4_000, 400_000);
    let cases: Vec<u64> = (0..campaign.cases()).collect();
    let used = campaign.each(&cases, |&case| {
        let mut random = campaign.random(case);
        // Each kind has its turn, however many files it has.
        let kind = ["ptx", "toml", "litmus"][random.below(3)];
        let all: Vec<_> =
            files.iter().filter(|(p, _)| p.extension().is_some_and(|e| e == kind)).collect();
        let (path, text) = all[random.below(all.len())];
        let (_, other) = &files[random.below(files.len())];
        let changed = change(text, other, &mut random);
        let read = reader(path).expect("it is of that kind");
        let start = Instant::now();
        let keep = |why: &str| -> ! {
            let kept = std::env::temp_dir().join(format!("baton-input.{kind}"));
            let _ = fs::write(&kept, &changed);
            panic!("case {case}, from {}: {why}; it is in {}", path.display(), kept.display());
        };
        let read = catch_unwind(|| read(&changed)).unwrap_or_else(|_| keep("a panic"));
        if start.elapsed() > PATIENCE {
            keep(&format!("it took {:?}", start.elapsed()));
        }
        read
    });
    let right = used.iter().filter(|used| **used).count();
    println!("{counts:?} files; {right} of {} could be used", used.len());
    assert!(right > 0 && right < used.len());
}
