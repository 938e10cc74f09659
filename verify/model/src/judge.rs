//! Verdicts: what is asked of the search, in which order, and what is made of its answers.
//!
//! Everything is enumerated first, as long as a budget lasts. Past it the search is directed, once by the
//! condition and once by races. Both look at those values only that matter to their question.

use std::collections::BTreeSet;
use std::fmt;

use crate::Error;
use crate::demand;
use crate::event::Event;
use crate::interleave::{self, Answer};
use crate::letters::Letters;
use crate::litmus::Condition;
use crate::local::{self, Local};
use crate::options::{Clause, Clauses, Options};
use crate::program::Program;
use crate::relevance::{Depth, Relevance};
use crate::search::{Flow, Goal, Search, may_be_undefined};
use crate::strong;
use crate::undefined::Undefined;
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
    /// Why what some execution leads to is undefined, which is more than allowed.
    pub undefined: BTreeSet<Undefined>,
    /// Why there is no execution at all that comes to its end: then everything is forbidden.
    pub incomplete: Option<Incomplete>,
    /// How many consistent executions there are, if all were enumerated.
    pub executions: Option<u64>,
    /// An execution that satisfies the condition.
    pub witness: Option<Witness>,
    /// An execution with a race.
    pub racing: Option<Witness>,
}

impl Verdict {
    /// Adds what is seen of one more execution: a race, if it has one.
    fn see(&mut self, other: Verdict) {
        if self.race.is_none() {
            self.race = other.race;
            self.racing = other.racing;
        }
        self.mixed_size |= other.mixed_size;
        self.undefined.extend(other.undefined);
    }
}

/// Why no execution is completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// This thread does not come to its end: it traps, or loops past `unroll`.
    Thread(String),
    /// Threads wait at a barrier for ever.
    Barrier,
    /// No way in which the threads come to their ends is consistent.
    Inconsistent,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no execution completes: ")?;
        match self {
            Incomplete::Thread(name) => {
                write!(f, "thread `{name}` traps or loops past `unroll` on all its ways")
            }
            Incomplete::Barrier => f.write_str("threads wait at a barrier for ever"),
            Incomplete::Inconsistent => f.write_str("no way to the end is consistent"),
        }
    }
}

/// Programs of more threads are not enumerated: their executions are too many to be counted.
const DIRECTED: usize = 12;

/// Nor is it tried where interleaving has the answer and threads are more than these.
const COUNTED: usize = 8;

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
    let known = Verdict::default();
    if program.threads.len() > COUNTED
        && let Some((verdict, true)) = interleaved(program, condition, options, &known)
    {
        return Ok(verdict);
    }
    let few = program.threads.len() <= DIRECTED;
    let mut ways = few.then(|| asked.ways(options));
    let known = match &ways {
        Some(Ok(ways)) => {
            let (verdict, complete) = enumerate(&asked, condition, options, ways, depth)?;
            if complete {
                return Ok(verdict);
            }
            verdict
        }
        _ => Verdict { race: cannot_race(program, options).then_some(false), ..Verdict::default() },
    };
    let brief = match known.allowed {
        false if !few && depth == Depth::Asked => briefly(&asked, condition, options, &known)?,
        _ => None,
    };
    let interleaved = match known.allowed {
        true => Some((known.clone(), false)),
        false => brief.or_else(|| interleaved(program, condition, options, &known)),
    };
    let mut verdict = match interleaved {
        Some((verdict, true)) => return Ok(verdict),
        Some((verdict, false)) => verdict,
        None => match demand::answer(program, condition, options) {
            Some(found) => {
                let mut verdict = known;
                if let Some(found) = found {
                    verdict.allowed = true;
                    verdict.witness = found.witness.clone();
                    verdict.see(found);
                }
                verdict
            }
            None => {
                // Whether values justify themselves is asked of all ways that a thread has.
                let ways = match ways.take() {
                    Some(Ok(ways)) => ways,
                    _ if depth == Depth::Asked => asked.ways_to(condition, options)?,
                    Some(Err(error)) => return Err(error.into()),
                    None => asked.ways(options)?,
                };
                directed(&asked, condition, options, &ways, depth, known)?
            }
        },
    };
    if verdict.race.is_none()
        && options.clauses == Clauses::default()
        && let Some((Answer::Reached(answers), _)) =
            interleave::answer(program, &Condition::True, options)
    {
        let mut any = Verdict::default();
        show(&mut any, program, &Condition::True, options, answers);
        verdict.see(any);
    }
    if verdict.race.is_none()
        && let Some(Some(any)) = demand::answer(program, &Condition::True, options)
    {
        verdict.see(any);
    }
    if verdict.race.is_none() {
        verdict.race = more(program, options, Goal::Race, depth, |search, complete| {
            verdict.mixed_size |= search.verdict.mixed_size;
            verdict.undefined.extend(search.verdict.undefined);
            verdict.racing = search.verdict.racing;
            search.verdict.race.or(complete.then_some(false))
        })?;
    }
    let open = verdict.witness.is_none() && verdict.racing.is_none();
    if open && *condition != Condition::True && !interleave::is_plain(program) {
        verdict.incomplete = more(program, options, Goal::Condition, depth, |search, complete| {
            let none = complete && !search.verdict.allowed;
            none.then(|| search.incomplete())
        })?;
    }
    if verdict.undefined.is_empty() {
        let found = more(program, options, Goal::Undefined, depth, |search, _| {
            Some(search.verdict.undefined)
        })?;
        verdict.undefined.extend(found.unwrap_or_default());
    }
    Ok(verdict)
}

/// What else there is to say asks for no values but those that threads decide by. `answer` is given the search
/// and whether it is complete; there is no answer where values are too many.
fn more<T>(
    program: &Program,
    options: &Options,
    goal: Goal,
    depth: Depth,
    answer: impl FnOnce(Search<'_>, bool) -> Option<T>,
) -> Result<Option<T>, Fault> {
    let plain = interleave::is_plain(program);
    let asked = Asked::new(program, &Condition::True, options, Depth::Asked);
    let ways = match asked.ways(options) {
        Err(_) if plain => return Ok(None),
        ways => ways?,
    };
    if goal == Goal::Undefined && !may_be_undefined(|| ways.iter().flatten()) {
        return Ok(None);
    }
    let mut search = Search::new(&asked, &Condition::True, options, &ways, goal, Depth::Asked);
    search.budget = options.budget.saturating_mul(DEEPER / 4);
    let flow = search.run();
    if flow == Flow::Found || !search.unknown {
        return Ok(answer(search, flow != Flow::GiveUp));
    }
    if depth == Depth::Asked && !plain {
        return Err(Fault::Unknown);
    }
    // A cycle of sources and dependencies needs the values.
    let asked = Asked::new(program, &Condition::True, options, Depth::Stored);
    let Ok(ways) = asked.ways(options) else { return Ok(None) };
    let mut search = Search::new(&asked, &Condition::True, options, &ways, goal, Depth::Stored);
    search.budget = options.budget.saturating_mul(DEEPER / 4);
    let flow = search.run();
    Ok(answer(search, flow != Flow::GiveUp))
}

/// Everything, as far as the budget goes; whether that was everything.
fn enumerate(
    asked: &Asked<'_>,
    condition: &Condition,
    options: &Options,
    ways: &[Vec<Local>],
    depth: Depth,
) -> Result<(Verdict, bool), Fault> {
    let racy = may_race(ways, options);
    let mut search = Search::new(asked, condition, options, ways, Goal::All, depth);
    if !racy {
        search.verdict.race = Some(false);
    }
    // Each choice of ways is a step at least.
    let choices = ways.iter().fold(1u64, |all, ways| all.saturating_mul(ways.len() as u64));
    let folded = search.twins.iter().any(Option::is_some);
    if choices > search.budget && !folded {
        search.budget = 0;
    }
    let flow = search.run();
    if search.unknown {
        return Err(Fault::Unknown);
    }
    if flow != Flow::Continue {
        return Ok((search.verdict, false));
    }
    let incomplete = (search.count == 0).then(|| search.incomplete());
    let mut verdict = search.verdict;
    verdict.incomplete = incomplete;
    verdict.executions = (!search.folded).then_some(search.count);
    verdict.race = Some(verdict.race.unwrap_or(false));
    Ok((verdict, true))
}

/// The search for one execution that satisfies the condition.
fn directed(
    asked: &Asked<'_>,
    condition: &Condition,
    options: &Options,
    ways: &[Vec<Local>],
    depth: Depth,
    mut verdict: Verdict,
) -> Result<Verdict, Fault> {
    let mut search = Search::new(asked, condition, options, ways, Goal::Condition, depth);
    search.budget = options.budget.saturating_mul(DEEPER);
    let flow = search.run();
    if search.unknown && flow != Flow::Found {
        return Err(Fault::Unknown);
    }
    if flow == Flow::GiveUp {
        return Err(Error::TooLarge(search.steps).into());
    }
    verdict.allowed = search.verdict.allowed;
    verdict.witness = search.verdict.witness;
    verdict.undefined.extend(search.verdict.undefined);
    Ok(verdict)
}

/// A short directed search where the condition leaves few ways to the threads; what is known afterwards.
fn briefly(
    asked: &Asked<'_>,
    condition: &Condition,
    options: &Options,
    known: &Verdict,
) -> Result<Option<(Verdict, bool)>, Fault> {
    let Ok(ways) = asked.ways_to(condition, options) else { return Ok(None) };
    let choices = ways.iter().fold(1u64, |all, ways| all.saturating_mul(ways.len() as u64));
    if choices > BRIEF {
        return Ok(None);
    }
    let brief = Options { budget: BRIEF.min(options.budget / DEEPER), ..*options };
    match directed(asked, condition, &brief, &ways, Depth::Asked, known.clone()) {
        Err(Fault::Error(Error::TooLarge(_))) => Ok(None),
        found => found.map(|verdict| Some((verdict, false))),
    }
}

/// What interleaving says about the condition, added to what is known; whether that is all there is to say.
fn interleaved(
    program: &Program,
    condition: &Condition,
    options: &Options,
    known: &Verdict,
) -> Option<(Verdict, bool)> {
    if options.clauses != Clauses::default() {
        return None;
    }
    let (answer, exact) = interleave::answer(program, condition, options)?;
    let mut verdict = known.clone();
    if exact {
        verdict.race = Some(false);
    }
    if let Answer::Reached(answers) = answer {
        verdict.allowed = true;
        show(&mut verdict, program, condition, options, answers);
    }
    Some((verdict, exact))
}

/// Adds the execution in which the threads' reads return this, and a race if it has one.
fn show(
    verdict: &mut Verdict,
    program: &Program,
    condition: &Condition,
    options: &Options,
    answers: Vec<Vec<u128>>,
) {
    let depth = Depth::All;
    let replay = |(thread, answers)| Some(vec![local::replay(program, options, thread, answers)?]);
    let ways: Option<Vec<Vec<Local>>> = answers.into_iter().enumerate().map(replay).collect();
    let Some(ways) = ways else { return };
    let asked = Asked::new(program, condition, options, depth);
    for goal in [Goal::All, Goal::Condition] {
        let mut search = Search::new(&asked, condition, options, &ways, goal, depth);
        search.verdict.race = verdict.race;
        search.run();
        let found = search.verdict;
        verdict.race = verdict.race.or(found.race);
        verdict.racing = verdict.racing.take().or(found.racing);
        verdict.mixed_size |= found.mixed_size;
        verdict.undefined.extend(found.undefined);
        verdict.witness = found.witness;
        if verdict.witness.is_some() {
            break;
        }
    }
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
    pub(crate) fn new(
        program: &'a Program,
        condition: &Condition,
        options: &Options,
        depth: Depth,
    ) -> Self {
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
        local::all(self.program(), options, &self.relevance, &self.letters, local::WAYS)
    }

    /// The ways that the condition does not exclude by themselves: fewer, where a thread reads much.
    fn ways_to(&self, condition: &Condition, options: &Options) -> Result<Vec<Vec<Local>>, Error> {
        let program = self.program();
        let to_memory = Relevance::to_memory(program, condition, Depth::Asked);
        let (relevance, letters) = (&self.relevance, &self.letters);
        local::that_satisfy(program, options, relevance, &to_memory, letters, condition)
    }
}

/// With more choices of ways than this a directed search is not short.
const BRIEF: u64 = 16;

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

/// Whether a quick look shows that nothing can race: the ways of threads where values do not matter are few.
fn cannot_race(program: &Program, options: &Options) -> bool {
    let asked = Asked::new(program, &Condition::True, options, Depth::Asked);
    asked.ways(options).is_ok_and(|ways| !may_race(&ways, options))
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
