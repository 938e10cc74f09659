//! A campaign is a test with too many cases to run each time: schedules, mutants, random programs. A sample of them
//! runs always, and all of them with `BATON_LONG=1`, which is what `cargo baton test --long` sets.
//!
//! Whoever reads a green test run has to know how much of each campaign stands behind it. So a test asks here how many
//! cases it is to run, and what it ran is written down when it ends: `cargo baton test` prints the lines as a table and
//! keeps them in its report.
//!
//! ```no_run
//! use baton_campaign::Campaign;
//!
//! let campaign = Campaign::new("sums of two numbers", 100, 10_000);
//! for case in 0..campaign.cases() {
//!     let (a, b) = (case, campaign.seed() % 1000);
//!     assert_eq!(a + b, b + a);
//! }
//! ```

use std::env;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Whether campaigns run in full: set, and neither empty nor 0.
pub const LONG: &str = "BATON_LONG";
/// The seed of whatever is random in them, a number; 1 if it is not set.
pub const SEED: &str = "BATON_SEED";
/// The file to which each campaign adds its line.
pub const RECORD: &str = "BATON_CAMPAIGNS";

/// Whether campaigns run in full.
pub fn is_long() -> bool {
    env::var_os(LONG).is_some_and(|value| !value.is_empty() && value != "0")
}

/// A campaign under way. It ends, and is written down, when it is dropped.
#[derive(Debug)]
pub struct Campaign {
    outcome: Outcome,
    start: Instant,
}

impl Campaign {
    /// A campaign with that many cases, of which a sample runs each time.
    ///
    /// # Panics
    ///
    /// If the sample is larger than the whole, or if `BATON_SEED` is not a number.
    pub fn new(name: &str, sample: u64, all: u64) -> Self {
        assert!(sample <= all, "{name}: a sample of {sample} out of {all}");
        assert!(!name.contains(['\t', '\n']), "the name of a campaign is one cell of a table");
        let cases = if is_long() { all } else { sample };
        let seed = env::var(SEED).map_or(1, |text| {
            text.parse().unwrap_or_else(|_| panic!("{SEED} has to be a number, and is `{text}`"))
        });
        let outcome =
            Outcome { name: name.into(), cases, all, seed, time: Duration::ZERO, held: false };
        Self { outcome, start: Instant::now() }
    }

    /// How many cases are to run.
    pub fn cases(&self) -> u64 {
        self.outcome.cases
    }

    /// The seed of what is random.
    pub fn seed(&self) -> u64 {
        self.outcome.seed
    }

    /// Does `work` for each item, on all cores; the results in the order of the items.
    ///
    /// # Panics
    ///
    /// If the work for one of them does.
    pub fn each<T: Sync, R: Send>(&self, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                        && let Some(item) = items.get(at)
                    {
                        let result = work(item);
                        results.lock().expect("no worker panics while it holds this")[at] =
                            Some(result);
                    }
                });
            }
        });
        let results = results.into_inner().expect("all have ended");
        results.into_iter().map(|result| result.expect("each item has its result")).collect()
    }

    /// Random numbers for one case: its own, so that the order in which cases run does not matter.
    pub fn random(&self, case: u64) -> Random {
        Random::of(self.seed(), case)
    }

    /// The seed for generators that want 32 bytes.
    pub fn seed_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.seed().to_le_bytes());
        bytes
    }
}

impl Drop for Campaign {
    fn drop(&mut self) {
        self.outcome.time = self.start.elapsed();
        self.outcome.held = !thread::panicking();
        println!("campaign: {}", self.outcome);
        let Some(file) = env::var_os(RECORD) else { return };
        // One write for the line: test programs that run side by side add to the same file.
        let line = format!("{}\n", self.outcome.to_line());
        let written = OpenOptions::new().create(true).append(true).open(&file);
        if let Err(error) = written.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("{} is not recorded: {}: {error}", self.outcome.name, file.display());
        }
    }
}

/// Random numbers that follow from a seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Those of case `case` of a campaign with this seed.
    pub fn of(seed: u64, case: u64) -> Self {
        Self(Self(seed).next() ^ Self(!case).next())
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number, below `n`; 0 if `n` is.
    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }
}

/// What a campaign came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was tried.
    pub name: String,
    /// How many cases.
    pub cases: u64,
    /// Out of how many.
    pub all: u64,
    /// The seed of what is random.
    pub seed: u64,
    /// How long it took.
    pub time: Duration,
    /// Whether it ended without a failure.
    pub held: bool,
}

impl Outcome {
    fn to_line(&self) -> String {
        let Self { name, cases, all, seed, time, held } = self;
        format!("{name}\t{cases}\t{all}\t{seed}\t{}\t{held}", time.as_millis())
    }
}

/// A line that is not one of a campaign's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnOutcome(String);

impl fmt::Display for NotAnOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not the line of a campaign: `{}`", self.0)
    }
}

impl std::error::Error for NotAnOutcome {}

impl FromStr for Outcome {
    type Err = NotAnOutcome;

    /// Reads a line of the record.
    fn from_str(line: &str) -> Result<Self, NotAnOutcome> {
        let read = || {
            let mut cells = line.split('\t');
            let outcome = Self {
                name: cells.next()?.to_owned(),
                cases: cells.next()?.parse().ok()?,
                all: cells.next()?.parse().ok()?,
                seed: cells.next()?.parse().ok()?,
                time: Duration::from_millis(cells.next()?.parse().ok()?),
                held: cells.next()?.parse().ok()?,
            };
            cells.next().is_none().then_some(outcome)
        };
        read().ok_or_else(|| NotAnOutcome(line.to_owned()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, cases, all, seed, time, held } = self;
        let failed = if *held { "" } else { ", FAILED" };
        write!(f, "{name}: {cases} of {all}, seed {seed}, {:.1} s{failed}", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        Outcome {
            name: "mutants of the twins".into(),
            cases: 23,
            all: 275,
            seed: 7,
            time: Duration::from_millis(1_250),
            held: true,
        }
    }

    #[test]
    fn a_line_of_the_record_reads_as_what_was_written() {
        for outcome in [outcome(), Outcome { held: false, ..outcome() }] {
            assert_eq!(outcome.to_line().parse(), Ok(outcome));
        }
    }

    #[test]
    fn another_line_is_no_outcome() {
        for line in ["", "a\t1\t2\t3\t4", "a\t1\t2\t3\t4\ttrue\tmore", "a\tx\t2\t3\t4\ttrue"] {
            assert_eq!(line.parse::<Outcome>(), Err(NotAnOutcome(line.into())));
        }
    }

    #[test]
    fn every_item_has_its_result_in_its_place() {
        let campaign = Campaign::new("squares", 1, 1);
        let numbers: Vec<u64> = (0..1000).collect();
        let squares = campaign.each(&numbers, |n| n * n);
        assert_eq!(squares, numbers.iter().map(|n| n * n).collect::<Vec<_>>());
        // It is no part of the record.
        std::mem::forget(campaign);
    }

    #[test]
    fn cases_have_random_numbers_of_their_own() {
        let campaign = Campaign::new("seeds", 1, 1);
        let first: std::collections::HashSet<u64> =
            (0..10_000).map(|n| campaign.random(n).next()).collect();
        assert_eq!(first.len(), 10_000);
        assert_eq!(campaign.random(7).next(), campaign.random(7).next());
        std::mem::forget(campaign);
    }

    #[test]
    fn it_says_how_much_of_the_whole_ran() {
        assert_eq!(outcome().to_string(), "mutants of the twins: 23 of 275, seed 7, 1.2 s");
        let failed = Outcome { held: false, ..outcome() };
        assert!(failed.to_string().ends_with("FAILED"));
    }
}
