//! Many schedules of one launch: what each finds, and the fewest decisions that show the first.

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use baton_emulator::explore::{self, Log};
use baton_emulator::trace::Trace;
use baton_emulator::{
    Deadlock, Decision, Error, Failure as Faulted, Fault, Hazard, Launch, Machine, Options,
    Program, Severity, Site,
};
use rayon::prelude::*;

use super::setup::Setup;
use crate::progress::Progress;

/// Runs that the search for the fewest decisions may make, and how long it may take.
const MINIMISING: usize = 300;
const PATIENCE: Duration = Duration::from_secs(30);

/// Seeds that are shared out among the cores at a time.
const CHUNK: u64 = 4096;

/// A kernel with its launch.
#[derive(Debug)]
pub struct Case {
    /// Its module, which other cases may share.
    pub program: Arc<Program>,
    /// Its launch.
    pub setup: Setup,
}

/// What can be wrong with a run.
#[derive(Clone, Debug)]
pub enum Finding {
    /// Two accesses without the order that they need.
    Hazard(Box<Hazard>),
    /// An instruction that ended the run.
    Fault(Box<Faulted>),
    /// All wait.
    Deadlock(Box<Deadlock>),
    /// A run without an end.
    Endless {
        /// Thread-instructions.
        steps: u64,
    },
    /// A buffer does not hold what it was to hold.
    Wrong(Wrong),
}

/// Elements that differ from what was expected.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// The buffer.
    pub buffer: String,
    /// The first of them.
    pub index: usize,
    /// What it is.
    pub got: String,
    /// What it was to be.
    pub expected: String,
    /// How many there are, of how many.
    pub differ: (usize, usize),
}

/// What makes two findings of different runs the same.
pub type Key = (String, u32, u32);

impl Finding {
    /// The rule, or a word where there is none.
    pub fn rule(&self) -> String {
        match self {
            Finding::Hazard(hazard) => hazard.rule.to_owned(),
            Finding::Fault(failure) => {
                let text = failure.fault.to_string();
                let rule = text.split("(rule ").nth(1).and_then(|rest| rest.split(')').next());
                rule.map_or_else(|| word(&failure.fault).to_owned(), str::to_owned)
            }
            Finding::Deadlock(deadlock) => deadlock.rule().unwrap_or("deadlock").to_owned(),
            Finding::Endless { .. } => "endless".to_owned(),
            Finding::Wrong(_) => "wrong-result".to_owned(),
        }
    }

    /// Whether it makes the check fail.
    pub fn severity(&self) -> Severity {
        match self {
            Finding::Hazard(hazard) => hazard.severity,
            _ => Severity::Error,
        }
    }

    /// Where it shows.
    pub fn site(&self) -> Option<&Site> {
        match self {
            Finding::Hazard(hazard) => Some(&hazard.site),
            Finding::Fault(failure) => Some(&failure.site),
            Finding::Deadlock(deadlock) => deadlock.waiters.first().map(|waiter| &waiter.site),
            Finding::Endless { .. } | Finding::Wrong(_) => None,
        }
    }

    /// What makes it the same as another.
    pub fn key(&self) -> Key {
        let other = match self {
            Finding::Hazard(hazard) => hazard.other.as_ref().map_or(0, |other| other.line),
            _ => 0,
        };
        let rule = match self {
            Finding::Wrong(wrong) => format!("wrong-result {}", wrong.buffer),
            // Which wait is the first depends on the schedule.
            Finding::Deadlock(_) => return ("deadlock".into(), 0, 0),
            _ => self.rule(),
        };
        (rule, self.site().map_or(0, |site| site.line), other)
    }
}

/// A word for a fault without a rule.
fn word(fault: &Fault) -> &'static str {
    match fault {
        Fault::OutOfBounds { .. } => "out-of-bounds",
        Fault::Misaligned { .. } => "misaligned",
        Fault::Trap => "trap",
        Fault::Assert { .. } => "assertion",
        _ => "fault",
    }
}

/// What one run found.
#[derive(Debug, Default)]
pub struct Run {
    /// All that is wrong with it.
    pub findings: Vec<Finding>,
    /// Thread-instructions.
    pub instructions: u64,
    /// What ran when, if that was asked for.
    pub trace: Option<Trace>,
    /// What the kernel printed.
    pub printed: String,
    decisions: Vec<Decision>,
}

impl Case {
    /// Runs once.
    pub fn run(&self, options: Options) -> Result<Run, Error> {
        // Where a launch leaves off the next goes on with the decisions.
        let record = options.record || options.replay.is_some() && self.setup.kernels().count() > 1;
        let options = Options { record, ..options };
        self.run_on(&mut Machine::new(options)).map(|(run, _)| run)
    }

    /// Runs once on a new device, which then holds what the run left: in the buffers of the setup, at these addresses.
    pub fn run_on(&self, machine: &mut Machine) -> Result<(Run, Vec<u64>), Error> {
        let (launches, addresses) = self.setup.prepare(machine)?;
        let mut run = Run::default();
        for launch in &launches {
            let goes_on = self.launch(machine, launch, &mut run)?;
            run.decisions.extend_from_slice(&machine.after().decisions);
            run.trace.clone_from(&machine.after().trace);
            if !goes_on {
                return Ok((run, addresses));
            }
            if let Some(decisions) = &machine.options().replay {
                let made = machine.after().decisions.len().min(decisions.len());
                machine.set_replay(Some(decisions[made..].to_vec()));
            }
        }
        run.findings.extend(self.compare(machine, &addresses)?);
        Ok((run, addresses))
    }

    /// Runs one of the launches; whether it came to its end.
    fn launch(&self, machine: &mut Machine, launch: &Launch, run: &mut Run) -> Result<bool, Error> {
        match machine.launch(&self.program, launch) {
            Ok(report) => {
                run.instructions += report.instructions;
                run.printed += &report.output;
                run.findings.extend(report.hazards.into_iter().map(|h| Finding::Hazard(h.into())));
                Ok(true)
            }
            Err(error) => {
                let after = machine.after();
                run.instructions += after.instructions;
                run.printed += &after.output;
                let hazards = after.hazards.iter().cloned();
                run.findings.extend(hazards.map(|h| Finding::Hazard(h.into())));
                run.findings.push(match error {
                    Error::Fault(failure) if matches!(failure.fault, Fault::Unknown { .. }) => {
                        return Err(Error::Fault(failure));
                    }
                    Error::Fault(failure) => Finding::Fault(failure),
                    Error::Deadlock(deadlock) => Finding::Deadlock(deadlock),
                    Error::StepLimit { limit, .. } => Finding::Endless { steps: limit },
                    other => return Err(other),
                });
                Ok(false)
            }
        }
    }

    fn compare(&self, machine: &Machine, addresses: &[u64]) -> Result<Vec<Finding>, Error> {
        let mut wrong = Vec::new();
        for (buffer, &address) in self.setup.buffers.iter().zip(addresses) {
            let Some((expected, tolerance)) = &buffer.expected else { continue };
            let mut got = vec![0; expected.len()];
            machine.read(address, &mut got)?;
            if got == *expected {
                continue;
            }
            let (element, size) = (buffer.element, buffer.element.bytes());
            let pairs = || got.chunks_exact(size).zip(expected.chunks_exact(size));
            let differs = |pair: &(&[u8], &[u8])| !element.agrees(pair.0, pair.1, *tolerance);
            let differ = pairs().filter(differs).count();
            if let Some((index, (got, expected))) = pairs().enumerate().find(|p| differs(&p.1)) {
                wrong.push(Finding::Wrong(Wrong {
                    buffer: buffer.name.clone(),
                    index,
                    got: element.decode(got).to_string(),
                    expected: element.decode(expected).to_string(),
                    differ: (differ, pairs().count()),
                }));
            }
        }
        Ok(wrong)
    }
}

/// A finding, in how many schedules it was, and the first of them.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As the first schedule had it.
    pub finding: Finding,
    /// Schedules.
    pub schedules: u64,
    /// Of the first.
    pub seed: u64,
}

impl Entry {
    /// Whether it is shown in the place of another of the same key: an error before a warning, then by seed.
    fn goes_before(&self, other: &Entry) -> bool {
        let order = |entry: &Entry| (entry.finding.severity() == Severity::Warning, entry.seed);
        order(self) < order(other)
    }
}

/// What all schedules found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Errors first, then by place.
    pub entries: Vec<Entry>,
    /// That ran.
    pub schedules: u64,
    /// Of all of them.
    pub instructions: u64,
    /// Of the first that failed, with as few decisions as were found.
    pub log: Option<Least>,
    /// What the kernel printed in the first schedule.
    pub printed: String,
    /// Of an exhaustive search, whether it was complete.
    pub complete: Option<bool>,
}

/// The fewest decisions with which a finding shows.
#[derive(Clone, Debug)]
pub struct Least {
    /// To replay.
    pub log: Log,
    /// Decisions that the run made.
    pub of: usize,
}

impl Outcome {
    /// Entries that make the check fail.
    pub fn errors(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.finding.severity() == Severity::Error)
    }

    fn new(found: Found) -> Outcome {
        let Found { entries, schedules, instructions, printed } = found;
        let mut entries: Vec<Entry> = entries.into_values().collect();
        entries.sort_by_key(|entry| {
            let warning = entry.finding.severity() == Severity::Warning;
            (warning, entry.finding.site().map_or(u32::MAX, |site| site.line))
        });
        Outcome { entries, schedules, instructions, printed, ..Outcome::default() }
    }
}

/// What some schedules found.
#[derive(Default)]
struct Found {
    entries: BTreeMap<Key, Entry>,
    schedules: u64,
    instructions: u64,
    printed: String,
}

impl Found {
    /// What both found together; `self` has the earlier seeds.
    fn join(mut self, later: Found) -> Found {
        for (key, entry) in later.entries {
            match self.entries.entry(key) {
                btree_map::Entry::Vacant(place) => {
                    place.insert(entry);
                }
                btree_map::Entry::Occupied(mut place) => {
                    let kept = place.get_mut();
                    let schedules = kept.schedules + entry.schedules;
                    if entry.goes_before(kept) {
                        *kept = entry;
                    }
                    kept.schedules = schedules;
                }
            }
        }
        if self.schedules == 0 {
            self.printed = later.printed;
        }
        self.schedules += later.schedules;
        self.instructions += later.instructions;
        self
    }
}

fn add(found: &mut BTreeMap<Key, Entry>, run: Run, seed: u64) {
    let mut seen = Vec::new();
    for finding in run.findings {
        let key = finding.key();
        if seen.contains(&key) {
            continue;
        }
        seen.push(key.clone());
        let entry =
            found.entry(key).or_insert(Entry { finding: finding.clone(), schedules: 0, seed });
        entry.schedules += 1;
        let new = Entry { finding, seed, schedules: entry.schedules };
        if new.goes_before(entry) {
            *entry = new;
        }
    }
}

/// Runs `count` seeds from `options.seed` on, on all cores.
///
/// A run that reaches the limit of steps ends the search: the others would take as long.
pub fn schedules(
    case: &Case,
    options: &Options,
    count: u64,
    progress: &Progress,
) -> Result<Outcome, Error> {
    let endless = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let one = |seed: u64| -> Result<Found, Error> {
        if endless.load(Ordering::Relaxed) {
            return Ok(Found::default());
        }
        let run = case.run(Options { seed, ..options.clone() })?;
        if run.findings.iter().any(|f| matches!(f, Finding::Endless { .. })) {
            endless.store(true, Ordering::Relaxed);
        }
        let found = single(run, seed, seed == options.seed);
        progress.done(done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(found)
    };
    let mut all = Found::default();
    let mut first = 0;
    while first < count && !endless.load(Ordering::Relaxed) {
        let end = count.min(first + CHUNK);
        let found = (first..end)
            .into_par_iter()
            .map(|i| one(options.seed.wrapping_add(i)))
            .try_reduce(Found::default, |a, b| Ok(a.join(b)))?;
        all = all.join(found);
        first = end;
    }
    Ok(Outcome::new(all))
}

/// What one run found; what it printed is kept of the first only.
fn single(mut run: Run, seed: u64, first: bool) -> Found {
    let printed = if first { std::mem::take(&mut run.printed) } else { String::new() };
    let mut found =
        Found { schedules: 1, instructions: run.instructions, printed, ..Found::default() };
    add(&mut found.entries, run, seed);
    found
}

/// Runs decisions that are given.
pub fn replay(case: &Case, options: &Options) -> Result<Outcome, Error> {
    let run = case.run(options.clone())?;
    Ok(Outcome::new(single(run, options.seed, true)))
}

/// Runs all combinations of at most `deviations` decisions that are not plain, at most `runs`,
/// until one fails.
pub fn exhaust(
    case: &Case,
    options: &Options,
    deviations: usize,
    runs: usize,
    progress: &Progress,
) -> Result<Outcome, Error> {
    let mut found = Found::default();
    let mut broken = None;
    let searched = explore::exhaust(deviations, runs, |decisions| {
        let replay = Some(decisions.to_vec());
        match case.run(Options { replay, record: true, ..options.clone() }) {
            Err(error) => {
                broken = Some(error);
                (true, Vec::new())
            }
            Ok(mut run) => {
                let decided = std::mem::take(&mut run.decisions);
                let failed = run.findings.iter().any(|f| f.severity() == Severity::Error);
                let first = found.schedules == 0;
                found = std::mem::take(&mut found).join(single(run, options.seed, first));
                progress.done(found.schedules);
                (failed, decided)
            }
        }
    });
    if let Some(error) = broken {
        return Err(error);
    }
    let mut outcome = Outcome::new(found);
    outcome.complete = Some(searched.complete);
    outcome.log = searched
        .failed
        .map(|decisions| Least { of: decisions.len(), log: Log::new(options.seed, &decisions) });
    Ok(outcome)
}

/// Finds few decisions with which the first failing seed still shows its finding.
pub fn minimise(case: &Case, options: &Options, entry: &Entry) -> Result<Option<Least>, Error> {
    // An endless run would be repeated, each time to its end.
    if matches!(entry.finding, Finding::Endless { .. }) {
        return Ok(None);
    }
    let key = entry.finding.key();
    let options = Options { seed: entry.seed, ..options.clone() };
    let run = case.run(Options { record: true, ..options.clone() })?;
    let decided: Vec<u32> = run.decisions.iter().map(|decision| decision.value).collect();
    // What does not end under other decisions does not show the finding.
    let steps = match run.instructions {
        0 => u64::MAX,
        instructions => instructions.saturating_mul(4).max(1_000_000),
    };
    let limit = options.step_limit.map_or(steps, |limit| limit.min(steps));
    let start = Instant::now();
    let least = explore::minimise(&decided, MINIMISING, |candidate| {
        start.elapsed() < PATIENCE
            && case
                .run(Options {
                    replay: Some(candidate.to_vec()),
                    step_limit: Some(limit),
                    ..options.clone()
                })
                .is_ok_and(|run| run.findings.iter().any(|finding| finding.key() == key))
    });
    Ok(Some(Least { log: Log::new(entry.seed, &least), of: decided.len() }))
}
