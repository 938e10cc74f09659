//! Broken launch descriptions never bring `baton check` down: those of the corpus with random changes
//! are read, and whatever is wrong with them is an error with a place and a way out. A long campaign
//! tries many more; the fuzz target in `fuzz/` does the same without end.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

use baton_campaign::{Campaign, Random};
use baton_cli::commands::check::spec::Spec;

/// What one description may take.
const PATIENCE: Duration = Duration::from_secs(5);

const PIECES: [&str; 24] = [
    "0",
    "-1",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "nan",
    "inf",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "=",
    "[buffer.x]",
    "fill = \"random\"",
    "elements = 4294967296",
    "box = []",
    "dims = [0]",
    "é",
    "\u{0}",
    "'''",
    "im2col = {}",
    "fields = []",
];

/// Changes one to five places: bytes, pieces, lines, numbers.
fn mutate(text: &str, other: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(5) {
        let at = random.below(chars.len());
        let end = (at + random.below(12)).min(chars.len());
        match random.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => {
                let piece = PIECES[random.below(PIECES.len())];
                drop(chars.splice(at..end, piece.chars()));
            }
            2 => {
                let lines: Vec<&str> = other.lines().collect();
                let line = format!("\n{}\n", lines[random.below(lines.len())]);
                drop(chars.splice(at..at, line.chars()));
            }
            3 => {
                let copied: Vec<char> = chars[at..end].to_vec();
                drop(chars.splice(at..at, copied));
            }
            _ => {
                let digit = (at..chars.len()).find(|&i| chars[i].is_ascii_digit());
                if let Some(i) = digit {
                    let number = PIECES[random.below(7)];
                    drop(chars.splice(i..=i, number.chars()));
                }
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn broken_descriptions_are_errors_with_a_place_and_a_way_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/spec");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let corpus: Vec<String> =
        paths.iter().map(|path| fs::read_to_string(path).expect("readable")).collect();
    for text in &corpus {
        Spec::parse(text).unwrap_or_else(|error| panic!("the corpus is right: {error:?}"));
    }
    let campaign = Campaign::new("changed launch descriptions", 5_000, 3_000_000);
    let numbers: Vec<u64> = (0..campaign.cases()).collect();
    let usable = campaign.each(&numbers, |&number| {
        let mut random = campaign.random(number);
        let text = mutate(
            &corpus[random.below(corpus.len())],
            &corpus[random.below(corpus.len())],
            &mut random,
        );
        let start = Instant::now();
        let parsed = catch_unwind(|| Spec::parse(&text)).unwrap_or_else(|_| {
            panic!("description {number} brings the parser down:\n{text}");
        });
        assert!(
            start.elapsed() < PATIENCE,
            "description {number} took {:?}:\n{text}",
            start.elapsed()
        );
        if let Err(error) = &parsed {
            let (line, column) = error.place(&text);
            assert!(line >= 1 && line <= text.matches('\n').count() + 1 && column >= 1);
            assert!(!error.problem.is_empty() && !error.help.is_empty(), "{error:?}:\n{text}");
        }
        parsed.is_ok()
    });
    let right = usable.iter().filter(|usable| **usable).count();
    let wrong = usable.len() - right;
    println!("{right} descriptions can be used, {wrong} are refused");
    assert!(right > 0 && wrong > right, "the changes are too weak or too strong");
}
