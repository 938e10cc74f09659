//! What each judge says of a program, and whether that fits together.

use super::emit::{self, Lanes, STRIDE};
use super::source::{GLOBALS, REGISTERS, Source};
use baton_emulator::explore;
use baton_emulator::{Launch, Machine, Options, Program};
use baton_model::litmus::Test;
use std::collections::BTreeSet;
use std::fmt;

/// Random schedules of each program.
const SEEDS: u64 = 40;

/// Random schedules tried for a race that these have not shown.
const MORE_SEEDS: u64 = 4_000;

/// Schedules tried besides in which one decision is not the plain one.
const FEW: usize = 60;

/// Schedules in which a few decisions are not, before the emulator's silence about a race is a contradiction.
const LAST_RESORT: usize = 20_000;

/// The seed of the habits of these schedules: strong loads may return older values.
const HABITS: u64 = 3;

/// Registers of the threads, then the words of global memory.
type Outcome = Vec<u32>;

/// What the model says.
pub struct Model {
    pub outcomes: BTreeSet<Outcome>,
    pub race: bool,
}

/// What the emulator said in one schedule.
struct Run {
    outcome: Outcome,
    /// Reports of unordered accesses.
    races: Vec<String>,
}

/// How the judges contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The emulator reports something in a program without a race.
    Accused,
    /// It reports nothing in any schedule of one with a race.
    Silent,
    /// It ends in a way that the model forbids.
    Forbidden,
}

#[derive(Clone, Debug)]
pub struct Contradiction {
    pub kind: Kind,
    pub what: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.what)
    }
}

/// What came of a comparison that found nothing wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    pub race: bool,
    /// Outcomes that the emulator showed, and those that the model allows.
    pub shown: usize,
    pub allowed: usize,
}

/// The model's answer; none if the program is too large for it.
pub fn model(source: &Source) -> Option<Model> {
    let text = emit::litmus(source);
    let test = Test::parse(&text, "source").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = baton_model::Options { budget: 20_000, ..Default::default() };
    let (outcomes, race) = match baton_model::outcomes(&test.program, &options) {
        Ok(answer) => answer,
        Err(
            baton_model::Error::TooLarge(_)
            | baton_model::Error::TooManyValues(_)
            | baton_model::Error::TooManyPaths(_),
        ) => return None,
        Err(error) => panic!("{error}\n{text}"),
    };
    let register = |thread: usize, name: &str| {
        test.program.threads[thread].registers.iter().position(|r| r == name)
    };
    let project = |outcome: &baton_model::Outcome| {
        let mut all = Vec::new();
        for (thread, values) in outcome.registers.iter().enumerate() {
            for number in 0..REGISTERS {
                let at = register(thread, &format!("r{number}"));
                all.push(at.map_or(0, |at| values[at] as u32));
            }
        }
        all.extend(outcome.memory[..GLOBALS.len()].iter().map(|&value| value as u32));
        all
    };
    Some(Model { outcomes: outcomes.iter().map(project).collect(), race })
}

/// A program for the emulator.
struct Subject<'s> {
    source: &'s Source,
    program: Program,
    text: String,
}

impl Subject<'_> {
    fn new(source: &Source, lanes: Lanes) -> Subject<'_> {
        let text = emit::ptx(source, lanes);
        let program = Program::load(&text, "source", None);
        let program = program.unwrap_or_else(|error| panic!("{error}\n{text}"));
        Subject { source, program, text }
    }

    fn run(&self, options: Options) -> (Run, Machine) {
        let source = self.source;
        let mut machine = Machine::new(Options { step_limit: Some(1 << 20), ..options });
        let threads = source.ctas() * source.height() * 32;
        let bytes = [STRIDE * GLOBALS.len(), 4 * REGISTERS * threads as usize];
        let [data, end] = bytes.map(|bytes| {
            let address = machine.alloc(bytes as u64, 256).expect("memory");
            machine.write(address, &vec![0; bytes]).expect("memory");
            address
        });
        let launch = Launch {
            kernel: "k".into(),
            grid: [source.ctas(), 1, 1],
            block: [32 * source.height(), 1, 1],
            cluster: [source.cluster, 1, 1],
            params: [data, end].map(|address| address.to_le_bytes().to_vec()).to_vec(),
            ..Launch::default()
        };
        let report = machine.launch(&self.program, &launch);
        let report = report.unwrap_or_else(|error| panic!("{error}\n{}", self.text));
        let word = |address: u64| {
            let mut bytes = [0; 4];
            machine.read(address, &mut bytes).expect("memory");
            u32::from_le_bytes(bytes)
        };
        let mut outcome = Vec::new();
        for (cta, warp, lane, _) in source.threads() {
            let thread = (cta * source.height() + warp) * 32 + lane;
            for register in 0..REGISTERS as u64 {
                let at = u64::from(thread) * REGISTERS as u64 + register;
                outcome.push(word(end + 4 * at));
            }
        }
        outcome.extend((0..GLOBALS.len() as u64).map(|at| word(data + STRIDE as u64 * at)));
        // An old value among strong accesses is no race.
        let races = report.hazards.iter().filter(|hazard| hazard.rule != "stale-read");
        let races = races.map(ToString::to_string).collect();
        (Run { outcome, races }, machine)
    }
}

/// Compares what both say. The emulator has to report every race, but for two limits (docs/emulator.md): lanes that run in
/// step never change places, so it is of lanes that do not; and no load returns what is stored later.
pub fn compare(source: &Source, model: &Model) -> Result<Agreement, Contradiction> {
    let apart = examine(source, model, Lanes::Apart)?;
    if source.warps.iter().all(|warp| warp.lanes.is_power_of_two()) {
        return Ok(apart);
    }
    examine(source, model, Lanes::InStep)?;
    Ok(apart)
}

fn examine(source: &Source, model: &Model, lanes: Lanes) -> Result<Agreement, Contradiction> {
    let subject = Subject::new(source, lanes);
    let mut shown = BTreeSet::new();
    let mut is_reported = false;
    let mut see = |run: Run, which: &dyn fmt::Display| {
        if !model.outcomes.contains(&run.outcome) {
            let what = format!("lanes {lanes:?}: {which} ends with {:?}", run.outcome);
            return Err(Contradiction { kind: Kind::Forbidden, what });
        }
        if let (Some(race), false) = (run.races.first(), model.race) {
            let what = format!("lanes {lanes:?}: {which}: {race}");
            return Err(Contradiction { kind: Kind::Accused, what });
        }
        shown.insert(run.outcome);
        Ok(!run.races.is_empty())
    };
    for seed in 0..SEEDS {
        let (run, _) = subject.run(Options { seed, ..Options::default() });
        is_reported |= see(run, &format_args!("seed {seed}"))?;
    }
    let claims = model.race && lanes == Lanes::Apart && !source.reads_ahead();
    let mut seed = SEEDS;
    while claims && !is_reported && seed < MORE_SEEDS {
        let (run, _) = subject.run(Options { seed, ..Options::default() });
        is_reported |= see(run, &format_args!("seed {seed}"))?;
        seed += 1;
    }
    // One decision besides the plain ones reaches what chance may miss; of a race that nothing has shown, four.
    let (deviations, runs) = if claims { (4, LAST_RESORT) } else { (1, FEW) };
    let mut contradiction = None;
    let mut found = is_reported;
    let searched = (!is_reported).then(|| {
        explore::exhaust(deviations, runs, |decisions| {
            let replay = Some(decisions.to_vec());
            let options = Options { seed: HABITS, replay, record: true, ..Options::default() };
            let (run, machine) = subject.run(options);
            match see(run, &format_args!("decisions {decisions:?}")) {
                Ok(reported) => found |= reported,
                Err(said) => contradiction = Some(said),
            }
            (found || contradiction.is_some(), machine.after().decisions.clone())
        })
    });
    if let Some(contradiction) = contradiction {
        return Err(contradiction);
    }
    if let (Some(searched), true, false) = (searched, claims, found) {
        let all = if searched.complete { "all" } else { "the first" };
        let what = format!("nothing in {all} {} schedules of few deviations", searched.runs);
        return Err(Contradiction { kind: Kind::Silent, what });
    }
    Ok(Agreement { race: model.race, shown: shown.len(), allowed: model.outcomes.len() })
}

/// The simplest program found that shows the same kind of contradiction.
pub fn shrink(source: &Source, kind: Kind) -> (Source, Contradiction) {
    let contradicts = |source: &Source| {
        let model = model(source)?;
        compare(source, &model).err().filter(|contradiction| contradiction.kind == kind)
    };
    let mut least = source.clone();
    let mut said = contradicts(&least).expect("it does");
    while let Some((simpler, words)) =
        least.simpler().into_iter().find_map(|s| contradicts(&s).map(|words| (s, words)))
    {
        (least, said) = (simpler, words);
    }
    (least, said)
}
