//! Verdicts: what is asked of the search, in which order, and what is made of its answers.
//!
//! Everything is enumerated first, as long as a budget lasts. Past it the search is directed, once by the
//! condition and once by races. Both look at those values only that matter to their question.

use std::collections::BTreeSet;

use crate::Error;
use crate::event::Event;
use crate::letters::Letters;
use crate::litmus::Condition;
use crate::local::{self, Local};
use crate::options::{Clause, Clauses, Options};
use crate::program::Program;
use crate::relevance::{Depth, Relevance};
use crate::search::{Flow, Goal, Search};
use crate::strong;
use crate::witness::Witness;

/// The answer.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Whether some consistent, completed execution satisfies the condition.
    pub allowed: bool,
    /// Whether some consistent execution has a data race; unknown if the search gave up on that.
    pub race: Option<bool>,
    /// Some race is between operations that overlap partially: the axioms do not apply (8.7.2).
    pub mixed_size: bool,
    /// Some race is with an asynchronous operation: what it leads to is undefined, not allowed.
    pub undefined: bool,
    /// How many consistent executions there are, if all were enumerated.
    pub executions: Option<u64>,
    /// An execution that satisfies the condition.
    pub witness: Option<Witness>,
    /// An execution with a race.
    pub racing: Option<Witness>,
}

/// Programs of more threads are not enumerated.
const DIRECTED: usize = 12;

/// Everything that can be seen of an execution at its end: the registers of each thread and the
/// value of each memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// Registers, thread by thread.
    pub registers: Vec<Vec<u128>>,
    /// Memories.
    pub memory: Vec<u128>,
}

/// Whether the condition is reached, and what else there is to know.
pub fn judge(
    program: &Program,
    condition: &Condition,
    options: &Options,
) -> Result<Verdict, Error> {
    match judge_at(program, condition, options, Depth::Asked) {
        Err(Fault::Unknown) => judge_at(program, condition, options, Depth::Stored),
        other => other,
    }
    .map_err(Fault::into_error)
}

/// Why a search ended without an answer.
enum Fault {
    Error(Error),
    /// It takes more values than are known.
    Unknown,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Error(error)
    }
}

impl Fault {
    fn into_error(self) -> Error {
        match self {
            Fault::Error(error) => error,
            Fault::Unknown => Error::TooLarge(0),
        }
    }
}

fn judge_at(
    program: &Program,
    condition: &Condition,
    options: &Options,
    depth: Depth,
) -> Result<Verdict, Fault> {
    let asked = Asked::new(program, condition, options, depth);
    let ways = asked.ways(options)?;
    let racy = may_race(&ways, options);
    let mut search = Search::new(&asked, condition, options, &ways, Goal::All, depth);
    if !racy {
        search.verdict.race = Some(false);
    }
    // Each choice of ways is a step at least.
    let choices = ways.iter().fold(1u64, |all, ways| all.saturating_mul(ways.len() as u64));
    let folded = search.twins.iter().any(Option::is_some);
    if program.threads.len() > DIRECTED || choices > search.budget && !folded {
        search.budget = 0;
    }
    let flow = search.run();
    if search.unknown {
        return Err(Fault::Unknown);
    }
    if flow == Flow::Continue {
        let mut verdict = search.verdict;
        verdict.executions = (!search.folded).then_some(search.count);
        verdict.race = Some(verdict.race.unwrap_or(false));
        return Ok(verdict);
    }
    let mut verdict = search.verdict;
    if !verdict.allowed {
        let mut search = Search::new(&asked, condition, options, &ways, Goal::Condition, depth);
        search.budget = options.budget.saturating_mul(DEEPER);
        let flow = search.run();
        if search.unknown {
            return Err(Fault::Unknown);
        }
        if flow == Flow::GiveUp {
            return Err(Error::TooLarge(search.steps).into());
        }
        verdict.allowed = search.verdict.allowed;
        verdict.witness = search.verdict.witness;
    }
    if verdict.race.is_none() {
        // Races ask for no values but those that threads decide by.
        let asked = Asked::new(program, &Condition::True, options, depth);
        let ways = asked.ways(options)?;
        let mut search = Search::new(&asked, &Condition::True, options, &ways, Goal::Race, depth);
        search.budget = options.budget.saturating_mul(DEEPER / 4);
        let complete = search.run() != Flow::GiveUp;
        if search.unknown {
            return Err(Fault::Unknown);
        }
        verdict.race = search.verdict.race.or(complete.then_some(false));
        verdict.mixed_size |= search.verdict.mixed_size;
        verdict.undefined |= search.verdict.undefined;
        verdict.racing = search.verdict.racing;
    }
    Ok(verdict)
}

/// A program as far as a condition looks at it.
pub(crate) struct Asked<'a> {
    /// The program as it is.
    pub(crate) plain: &'a Program,
    /// Its first contents in letters, if some bytes share one.
    spelled: Option<Program>,
    letters: Letters,
    relevance: Relevance,
}

impl<'a> Asked<'a> {
    fn new(program: &'a Program, condition: &Condition, options: &Options, depth: Depth) -> Self {
        let letters = match depth == Depth::Asked && options.clauses == Clauses::default() {
            true => Letters::new(program, condition),
            false => Letters::default(),
        };
        let spelled = letters.is_active().then(|| letters.spell(program));
        let relevance = Relevance::new(program, condition, depth);
        Self { plain: program, spelled, letters, relevance }
    }

    pub(crate) fn program(&self) -> &Program {
        self.spelled.as_ref().unwrap_or(self.plain)
    }

    fn ways(&self, options: &Options) -> Result<Vec<Vec<Local>>, Error> {
        local::all(self.program(), options, &self.relevance, &self.letters)
    }
}

/// How many times the steps of the enumeration the directed search may take.
const DEEPER: u64 = 500;

/// Whether the condition is reached, by the directed search alone: what [`judge`] falls back to.
pub fn judge_directed(
    program: &Program,
    condition: &Condition,
    options: &Options,
) -> Result<bool, Error> {
    let depth = Depth::Stored;
    let asked = Asked::new(program, condition, options, depth);
    let ways = asked.ways(options)?;
    let mut search = Search::new(&asked, condition, options, &ways, Goal::Condition, depth);
    search.budget = options.budget.saturating_mul(DEEPER);
    match search.run() {
        Flow::GiveUp => Err(Error::TooLarge(search.steps)),
        _ => Ok(search.verdict.allowed),
    }
}

/// All outcomes of all consistent, completed executions, and whether one of them has a race.
pub fn outcomes(program: &Program, options: &Options) -> Result<(BTreeSet<Outcome>, bool), Error> {
    let (condition, depth) = (Condition::True, Depth::All);
    let asked = Asked::new(program, &condition, options, depth);
    let ways = asked.ways(options)?;
    let mut search = Search::new(&asked, &condition, options, &ways, Goal::Outcomes, depth);
    search.budget = options.budget.saturating_mul(DEEPER);
    search.twins = vec![None; program.threads.len()];
    match search.run() {
        Flow::GiveUp => Err(Error::TooLarge(search.steps)),
        _ => Ok((search.outcomes, search.verdict.race == Some(true))),
    }
}

/// Whether any two operations of any ways could be in a data race. A quick look that spares the
/// search for races in programs that have strong operations only.
fn may_race(ways: &[Vec<Local>], options: &Options) -> bool {
    if !options.clauses.has(Clause::RaceStrong) || !options.clauses.has(Clause::RaceWrite) {
        return true;
    }
    let mut kinds: Vec<&Event> = vec![];
    for event in ways.iter().flatten().flat_map(|way| &way.events) {
        let Some(access) = event.access() else { continue };
        let known = kinds.iter().any(|k| {
            k.thread == event.thread
                && k.instruction == event.instruction
                && k.is_write() == event.is_write()
                && k.access()
                    .is_some_and(|a| a.overlaps_completely(access) && a.order == access.order)
        });
        if !known {
            kinds.push(event);
        }
    }
    kinds.iter().enumerate().any(|(index, x)| {
        kinds[..index].iter().any(|y| {
            let (Some(p), Some(q)) = (x.access(), y.access()) else { return false };
            let apart =
                x.thread != y.thread || x.asynchronous || y.asynchronous || p.proxy != q.proxy;
            let same_operation = x.thread == y.thread && x.instruction == y.instruction;
            apart
                && !same_operation
                && p.overlaps(q)
                && (x.is_write() || y.is_write())
                && !strong::morally_strong(options, x, y)
        })
    })
}
