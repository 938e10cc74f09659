//! Searches over the decisions of a run: the smallest set with which a failure shows, and all runs
//! that differ from the plain one in a few decisions.
//!
//! A run is a function from decisions to what came of it. Decisions that are not given are zero,
//! the plain choice (see [`Decision`]), so a short list of deviations describes a run.

use crate::rng::Decision;
use std::fmt;
use std::str::FromStr;

/// The decisions of a run that are not zero, and the seed of its habits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The seed.
    pub seed: u64,
    /// Position and value of each decision, in the order of the positions.
    pub deviations: Vec<(u32, u32)>,
}

/// A line of a log that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct LogError {
    /// 1-based.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// The largest position that a log may name, so that a damaged one cannot fill memory.
const POSITIONS: u32 = 1 << 28;

impl Log {
    /// The log of decisions.
    pub fn new(seed: u64, decisions: &[u32]) -> Log {
        let all = decisions.iter().enumerate().filter(|d| *d.1 != 0);
        Log { seed, deviations: all.map(|(at, &value)| (at as u32, value)).collect() }
    }

    /// The decisions, from the first.
    pub fn decisions(&self) -> Vec<u32> {
        let length = self.deviations.last().map_or(0, |last| last.0 as usize + 1);
        let mut decisions = vec![0; length];
        for &(at, value) in &self.deviations {
            decisions[at as usize] = value;
        }
        decisions
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        self.deviations.iter().try_for_each(|(at, value)| writeln!(f, "{at} {value}"))
    }
}

impl FromStr for Log {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Log, LogError> {
        let mut log = Log::default();
        for (number, line) in text.lines().enumerate() {
            let fail = |problem: String| LogError { line: number + 1, problem };
            let Some((first, second)) = line.trim().split_once(' ') else {
                if line.trim().is_empty() {
                    continue;
                }
                return Err(fail(format!("`{line}` is not two words")));
            };
            let value = |word: &str| {
                word.trim().parse().map_err(|_| fail(format!("`{word}` is not a number")))
            };
            if first == "seed" {
                log.seed = value(second)?;
                continue;
            }
            let at = u32::try_from(value(first)?).unwrap_or(u32::MAX);
            let value = u32::try_from(value(second)?).unwrap_or(u32::MAX);
            if at > POSITIONS || log.deviations.last().is_some_and(|last| last.0 >= at) {
                return Err(fail(format!("position {at} is too large, or not behind the last")));
            }
            log.deviations.push((at, value));
        }
        Ok(log)
    }
}

/// Makes decisions plain, as many as possible, while `fails` holds; at most `runs` runs.
pub fn minimise(decisions: &[u32], runs: usize, mut fails: impl FnMut(&[u32]) -> bool) -> Vec<u32> {
    let mut best = decisions.to_vec();
    let mut left = runs;
    let mut attempt = |candidate: &[u32], left: &mut usize| {
        *left = left.saturating_sub(1);
        fails(candidate)
    };
    // The end first: a failure needs only what comes before it.
    let (mut low, mut high) = (0, best.len());
    while low < high && left > 0 {
        let middle = usize::midpoint(low, high);
        if attempt(&best[..middle], &mut left) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if high < best.len() && left > 0 && attempt(&best[..high], &mut left) {
        best.truncate(high);
    }
    // Then pieces, smaller and smaller, of those that are not plain.
    let mut piece = best.iter().filter(|&&value| value != 0).count().div_ceil(2);
    while piece > 0 && left > 0 {
        let mut start = 0;
        loop {
            let open: Vec<usize> = (0..best.len()).filter(|&at| best[at] != 0).collect();
            if start >= open.len() || left == 0 {
                break;
            }
            let mut candidate = best.clone();
            for &at in open.iter().skip(start).take(piece) {
                candidate[at] = 0;
            }
            if attempt(&candidate, &mut left) {
                best = candidate;
            } else {
                start += piece;
            }
        }
        piece /= 2;
    }
    while best.last() == Some(&0) {
        best.pop();
    }
    best
}

/// Runs every combination of at most `deviations` decisions that are not plain, those with fewer
/// first, until one fails or `runs` are spent. `run` says whether it failed, and what it decided.
pub fn exhaust(
    deviations: usize,
    runs: usize,
    mut run: impl FnMut(&[u32]) -> (bool, Vec<Decision>),
) -> Exhausted {
    let mut round = vec![Vec::new()];
    let mut done = 0;
    for depth in 0..=deviations {
        let mut next = Vec::new();
        for decisions in round {
            if done == runs {
                return Exhausted { runs: done, complete: false, failed: None };
            }
            done += 1;
            let (failed, decided) = run(&decisions);
            if failed {
                return Exhausted { runs: done, complete: false, failed: Some(decisions) };
            }
            if depth == deviations {
                continue;
            }
            for (at, decision) in decided.iter().enumerate().skip(decisions.len()) {
                for value in 1..decision.of {
                    if next.len() + done >= runs {
                        break;
                    }
                    let mut other = decisions.clone();
                    other.resize(at, 0);
                    other.push(value);
                    next.push(other);
                }
            }
        }
        round = next;
    }
    Exhausted { runs: done, complete: done < runs, failed: None }
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Runs that were made.
    pub runs: usize,
    /// Whether they were all.
    pub complete: bool,
    /// The decisions of the run that failed.
    pub failed: Option<Vec<u32>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_goes() {
        let decisions: Vec<u32> = (0..1000).map(|i| i % 7).collect();
        let needs = |d: &[u32]| d.get(33) == Some(&5) && d.get(400) == Some(&1);
        let least = minimise(&decisions, 500, needs);
        assert!(needs(&least));
        assert_eq!(Log::new(3, &least).deviations, [(33, 5), (400, 1)]);
    }

    #[test]
    fn nothing_is_needed_for_what_always_fails() {
        assert_eq!(minimise(&[1, 2, 3], 100, |_| true), [] as [u32; 0]);
        assert_eq!(minimise(&[1, 2, 3], 0, |_| true), [1, 2, 3]);
    }

    #[test]
    fn logs_are_read_as_they_are_written() {
        let log = Log { seed: 9, deviations: vec![(2, 1), (70, 3)] };
        assert_eq!(log.to_string().parse(), Ok(log.clone()));
        assert_eq!(log.decisions().len(), 71);
        let problem = |text: &str| text.parse::<Log>().unwrap_err().to_string();
        assert!(problem("seed 1\n5").contains("line 2"));
        assert!(problem("seed x").contains("`x` is not a number"));
        assert!(problem("5 1\n5 1").contains("not behind"));
        assert!(problem("4294967295 1").contains("too large"));
    }

    #[test]
    fn all_of_a_few_deviations_are_tried() {
        // Three decisions of two: 1 + 3 + 3 runs with at most two deviations.
        let mut seen = Vec::new();
        let of = |d: &[u32]| {
            let all = (0..3).map(|i| Decision { value: *d.get(i).unwrap_or(&0), of: 2 });
            (d.iter().sum::<u32>() == 3, all.collect())
        };
        let found = exhaust(2, 100, |d| {
            seen.push(d.to_vec());
            of(d)
        });
        assert_eq!(found, Exhausted { runs: 7, complete: true, failed: None });
        assert_eq!(exhaust(3, 100, of).failed, Some(vec![1, 1, 1]));
        assert!(!exhaust(3, 4, of).complete);
    }
}
