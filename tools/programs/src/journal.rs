//! What a long campaign leaves behind while it runs: a line for each batch, and everything about each finding. A campaign that was
//! ended goes on behind the last batch that is written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use time::OffsetDateTime;

use crate::{Error, Result};

/// The files of a campaign, which grow by lines.
#[derive(Clone, Debug)]
pub struct Journal {
    /// A line for each batch.
    pub batches: PathBuf,
    /// Reports of what ended as it must not.
    pub findings: PathBuf,
    seed: u64,
}

/// What became of the programs of a batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// When it ended.
    pub at: SystemTime,
    /// Which programs.
    pub cases: Range<u64>,
    /// How many ended how.
    pub ends: BTreeMap<&'static str, u64>,
    /// How long it took.
    pub took: Duration,
}

impl Journal {
    /// The journal of a seed in a folder.
    pub fn new(folder: &Path, seed: u64) -> Self {
        let file = |name: &str| folder.join(format!("{name}-{seed}.txt"));
        Self { batches: file("batches"), findings: file("findings"), seed }
    }

    /// The first program that is not written down, from 0 on.
    pub fn next(&self) -> Result<u64> {
        if !self.batches.is_file() {
            return Ok(0);
        }
        let text = crate::read(&self.batches)?;
        let end = |line: &str| {
            let cases = line.split(' ').nth(2)?.strip_suffix(':')?;
            cases.split_once("..")?.1.parse::<u64>().ok()
        };
        // A line that was cut off names no batch that is over.
        Ok(text.lines().filter_map(end).max().unwrap_or(0))
    }

    /// Writes a batch down; gives its line.
    pub fn batch(&self, batch: &Batch) -> Result<String> {
        let line = self.line(batch);
        append(&self.batches, &line)?;
        Ok(line)
    }

    /// What is written down of a batch.
    pub fn line(&self, batch: &Batch) -> String {
        let at = OffsetDateTime::from(batch.at);
        let (hour, minute, second) = at.to_hms();
        let date = at.date();
        let Range { start, end } = batch.cases;
        let mut line =
            format!("{date}T{hour:02}:{minute:02}:{second:02}Z seed={} {start}..{end}:", self.seed);
        for (word, n) in &batch.ends {
            let _ = write!(line, " {n} {word},");
        }
        let seconds = batch.took.as_secs_f64().max(0.001);
        let rate = (end - start) as f64 * 60.0 / seconds;
        let _ = write!(line, " {seconds:.0} s, {rate:.0} a minute");
        line
    }

    /// Writes a finding down.
    pub fn finding(&self, report: &str) -> Result<()> {
        append(&self.findings, report)
    }
}

fn append(path: &Path, text: &str) -> Result<()> {
    let error = |source| Error::File { action: "add to", path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(error)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(error)?;
    file.write_all(format!("{text}\n").as_bytes()).map_err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_goes_on_behind_the_last_whole_batch() {
        let folder = std::env::temp_dir().join(format!("baton-journal-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let journal = Journal::new(&folder, 7);
        assert_eq!(journal.next().unwrap(), 0);
        let batch = |cases| Batch {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_100_000),
            cases,
            ends: [("silent", 200), ("not compiled", 100)].into(),
            took: Duration::from_secs(90),
        };
        let line = journal.batch(&batch(0..300)).unwrap();
        assert_eq!(
            line,
            "2026-12-01T04:40:00Z seed=7 0..300: 100 not compiled, 200 silent, 90 s, 200 a minute"
        );
        journal.batch(&batch(300..600)).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(&journal.batches)
            .and_then(|mut file| file.write_all(b"2026-12-01T04:50:00Z seed=7 600..9"))
            .unwrap();
        assert_eq!(journal.next().unwrap(), 600);
        assert_eq!(Journal::new(&folder, 8).next().unwrap(), 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
