//! Many programs, batch after batch.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Instant, SystemTime};

use baton_campaign::Campaign;
use similar::TextDiff;

use crate::Result;
use crate::batch::{Outcome, Workshop};
use crate::journal::{Batch, Journal};
use crate::judge::End;
use crate::program::{Number, Program};
use crate::shrink::shrink;

/// Programs of one crate.
pub const BATCH: u64 = 300;

/// What a campaign came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Programs by the words of their ends.
    pub ends: BTreeMap<&'static str, u64>,
    /// Those that ended as they must not.
    pub wrong: Vec<Outcome>,
}

impl Tally {
    /// The counts on one line.
    pub fn line(&self) -> String {
        let parts: Vec<_> = self.ends.iter().map(|(word, n)| format!("{n} {word}")).collect();
        parts.join(", ")
    }

    fn add(&mut self, outcome: Outcome) {
        *self.ends.entry(outcome.end.word()).or_default() += 1;
        if matches!(outcome.end, End::Wrong(_)) {
            self.wrong.push(outcome);
        }
    }
}

/// How many ended how.
fn ends(outcomes: &[Outcome]) -> BTreeMap<&'static str, u64> {
    let mut ends = BTreeMap::new();
    for outcome in outcomes {
        *ends.entry(outcome.end.word()).or_default() += 1;
    }
    ends
}

/// Runs the programs of a campaign; `tell` hears of each batch.
pub fn run(
    workshop: &Workshop,
    campaign: &Campaign,
    cases: Range<u64>,
    mut tell: impl FnMut(Batch, &[Outcome]) -> Result<()>,
) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut first = cases.start;
    while first < cases.end {
        let start = Instant::now();
        let last = cases.end.min(first + BATCH);
        let numbers = (first..last).map(|case| Number { seed: campaign.seed(), case });
        crate::batch::clear(&workshop.folder);
        let outcomes = workshop.run(workshop.programs(numbers), campaign)?;
        let (at, took) = (SystemTime::now(), start.elapsed());
        tell(Batch { at, cases: first..last, ends: ends(&outcomes), took }, &outcomes)?;
        outcomes.into_iter().for_each(|outcome| tally.add(outcome));
        first = last;
    }
    Ok(tally)
}

/// Writes a batch down, its findings first; gives its line.
pub fn keep(
    journal: &Journal,
    workshop: &Workshop,
    batch: &Batch,
    outcomes: &[Outcome],
) -> Result<String> {
    for outcome in outcomes {
        if let End::Wrong(_) = outcome.end {
            journal.finding(&report(workshop, outcome))?;
        }
    }
    journal.batch(batch)
}

/// Everything about a program: its number, its edits, what it says, and how it differs from its kernel.
pub fn report(workshop: &Workshop, outcome: &Outcome) -> String {
    let program = &outcome.program;
    let seed = &workshop.material.seeds[program.seed];
    let plain = Program::unedited(program.number, program.seed).source(&workshop.material).text;
    let diff = TextDiff::from_lines(&plain, &outcome.text);
    let diff = diff.unified_diff().context_radius(3).header(&seed.name, "program").to_string();
    let mut text = format!("program {} of `{}`\n", program.number, seed.name);
    for note in &outcome.notes {
        let _ = writeln!(text, "  edit: {note}");
    }
    let _ = writeln!(text, "\n{}\n{diff}\n{}", outcome.text, outcome.end);
    let _ = writeln!(
        text,
        "\nagain: cargo run --release -p baton-programs -- replay {}",
        program.number
    );
    text
}

/// Reports of what ended as it must not, with as few edits as show it.
pub fn wrong(workshop: &Workshop, tally: &Tally, campaign: &Campaign) -> Result<String> {
    let mut text = String::new();
    for outcome in &tally.wrong {
        let least = shrink(workshop, outcome, campaign)?;
        text += &report(workshop, &least);
        text += "\n";
    }
    Ok(text)
}
