//! What a thread can do by itself: every control-flow path with every value its reads could return.
//!
//! A thread is run again and again, each time with another sequence of answers to its reads, until
//! all sequences are used up. The answers come from `Domain`, the values that some write in some
//! execution of some thread could have put there: a least fixed point over all threads, so that a
//! value that nobody can produce without assuming it is never guessed.

//!
//! `domain` knows the values, `run` executes; what instructions on mbarriers, copies and tensor
//! memory do stands in a module each.

mod copies;
mod domain;
mod finals;
mod mbarrier;
mod run;
mod tensor;

use crate::Error;
use crate::event::Event;
use crate::letters::Letters;
use crate::litmus::Condition;
use crate::options::Options;
use crate::program::Program;
use crate::relevance::{Depth, Relevance};
use crate::undefined::Undefined;

use domain::Domain;
pub use finals::Finals;
use run::{End, Run};

/// More ways of one thread than this cannot be enumerated.
pub const WAYS: usize = 1 << 16;

/// One way in which a thread can run to its end.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its operations.
    pub events: Vec<Event>,
    /// Base causality that asynchronous operations add, between moments of the events.
    pub edges: Vec<(Moment, Moment)>,
    /// For each event the reads (as bits) on which its value or existence may depend.
    pub depends: Vec<u128>,
    /// Registers at the end.
    pub registers: Vec<u128>,
    /// What it does that has no meaning.
    pub undefined: Vec<Undefined>,
}

/// A moment of an event: asynchronous operations have three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// What must come before it points here; ordinary events have only this.
    Start(usize),
    /// It is ordered before what this points to, complete or not. Of a tcgen05 fence: what it orders
    /// is tcgen05 operations only.
    Ordered(usize),
    /// It is complete.
    Done(usize),
}

/// All ways of all threads, with every value that can be reached; at most so many of a thread.
pub fn all(
    program: &Program,
    options: &Options,
    relevance: &Relevance,
    letters: &Letters,
    most: usize,
) -> Result<Vec<Vec<Local>>, Error> {
    let (_, ways) = fixed_point(Domain::new(program, options, relevance, letters), most)?;
    Ok(ways)
}

/// The ways that the condition does not exclude by a thread's own registers. What memory can hold is found out
/// before, with no look at them: a store may be there whatever its thread has read.
pub fn that_satisfy(
    program: &Program,
    options: &Options,
    relevance: &Relevance,
    to_memory: &Relevance,
    letters: &Letters,
    condition: &Condition,
) -> Result<Vec<Vec<Local>>, Error> {
    let (domain, _) = fixed_point(Domain::new(program, options, to_memory, letters), WAYS)?;
    let domain = domain.asked(relevance);
    let finals = Finals::new(program, condition);
    let threads = 0..program.threads.len();
    threads.map(|thread| Ok(ways(&domain, thread, WAYS, Some(&finals), |_| Ok(()))?.0)).collect()
}

/// The least fixed point of what memory can hold, and the ways of the threads with it.
fn fixed_point<'a>(
    mut domain: Domain<'a>,
    most: usize,
) -> Result<(Domain<'a>, Vec<Vec<Local>>), Error> {
    let program = domain.program;
    let mut rounds = 0;
    loop {
        let mut locals = vec![];
        let mut learnt = domain.clone();
        let mut new = false;
        // A chain of values is no longer than one execution has writes.
        let mut bound = 0;
        let mut stuck = None;
        for thread in 0..program.threads.len() {
            let mut longest = 0;
            let (found, fault) = ways(&domain, thread, most, None, |run| {
                new |= learnt.learn(&run.events, &run.origins);
                longest = longest.max(run.events.iter().filter(|event| event.is_write()).count());
                match learnt.is_too_large() {
                    true => Err(Error::TooManyPaths(program.threads[thread].name.clone())),
                    false => Ok(()),
                }
            })?;
            if found.is_empty() {
                stuck = stuck.or(fault);
            }
            locals.push(found);
            bound += longest;
        }
        domain = learnt;
        domain.forget_answers();
        rounds += 1;
        if !new || rounds > bound + 1 {
            return match stuck {
                Some(fault) => Err(fault),
                None => Ok((domain, locals)),
            };
        }
    }
}

/// What a thread does, and leaves in its registers, when its reads and votes are answered like this.
pub fn replay(
    program: &Program,
    options: &Options,
    thread: usize,
    answers: Vec<u128>,
) -> Option<Local> {
    let relevance = Relevance::new(program, &Condition::True, Depth::All);
    let letters = Letters::default();
    let domain = Domain::new(program, options, &relevance, &letters);
    let mut run = Run::new(&domain, thread, vec![]);
    run.given = Some(answers.into_iter());
    let complete = run.execute().is_ok_and(|end| end == End::Complete);
    let Run { events, edges, depends, registers, undefined, .. } = run;
    complete.then_some(Local { events, edges, depends, registers, undefined })
}

/// All ways of one thread, and an access outside of memory if there was one: like a trap, it ends the
/// kernel, so that the run completes nothing. `each` sees every run, also those that are cut off.
fn ways(
    domain: &Domain<'_>,
    thread: usize,
    most: usize,
    finals: Option<&Finals<'_>>,
    mut each: impl FnMut(&Run<'_>) -> Result<(), Error>,
) -> Result<(Vec<Local>, Option<Error>), Error> {
    let mut path = vec![];
    let mut found = vec![];
    let mut fault = None;
    let mut runs = 0;
    loop {
        let mut run = Run::new(domain, thread, std::mem::take(&mut path));
        run.finals = finals;
        let end = match run.execute() {
            Err(outside @ Error::OutOfBounds { .. }) => {
                fault = Some(outside);
                End::Cut
            }
            end => end?,
        };
        each(&run)?;
        path = std::mem::take(&mut run.path);
        path.truncate(run.asked);
        if end == End::Complete {
            let Run { events, edges, depends, registers, undefined, .. } = run;
            found.push(Local { events, edges, depends, registers, undefined });
        }
        runs += 1;
        if domain.options.is_late() {
            return Err(Error::TooLarge(runs as u64));
        }
        if runs > most {
            return Err(Error::TooManyPaths(domain.program.threads[thread].name.clone()));
        }
        // The next sequence of answers, as an odometer counts.
        while path.last().is_some_and(|(answer, answers)| answer + 1 == *answers) {
            path.pop();
        }
        match path.last_mut() {
            Some((answer, _)) => *answer += 1,
            None => return Ok((found, fault)),
        }
    }
}
