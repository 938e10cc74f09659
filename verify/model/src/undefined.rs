//! What a program may do and PTX gives no meaning to: more than "allowed", since anything may follow.
//!
//! The execution goes on all the same, in the way that is nearest; the verdict carries the remark.

use std::fmt;

use crate::candidate::Candidate;
use crate::event::{Event, Object};
use crate::relation::Relation;

/// Why what an execution leads to is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undefined {
    /// A data race with an asynchronous operation.
    Race,
    /// `bar.red` meets `bar.sync`, `bar.arrive` or another reduction in one phase of a barrier.
    Votes,
    /// An operation on an mbarrier object that is not there.
    NoObject,
    /// `mbarrier.init` of an object that is there already.
    Again,
    /// `mbarrier.init` for no arrivals at all.
    NoArrivals,
    /// More arrivals at an mbarrier than its phase still expects, or none.
    Arrivals,
    /// `mbarrier.arrive.noComplete` completes the phase.
    Completes,
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undefined::Race => "races with an asynchronous operation",
            Undefined::Votes => "bar.red meets another kind of arrival in one phase",
            Undefined::NoObject => "uses an mbarrier that is not initialised",
            Undefined::Again => "initialises an mbarrier that is initialised already",
            Undefined::NoArrivals => "initialises an mbarrier for 0 arrivals",
            Undefined::Arrivals => {
                "arrives at an mbarrier more often than its phase expects, or 0 times"
            }
            Undefined::Completes => "completes a phase by mbarrier.arrive.noComplete",
        })
    }
}

/// Whether an mbarrier object is initialised twice with no end of it in between (rule of `mbarrier.init`).
pub(crate) fn initialises_again(candidate: &Candidate<'_>, coherence: &Relation) -> bool {
    let of = |object: Object| {
        let events = &candidate.events;
        let is = move |write: &usize| events[*write].access().is_some_and(|a| a.object == object);
        candidate.writes.iter().copied().filter(is)
    };
    let between = |a: usize, b: usize| {
        of(Object::End).any(|end| coherence.has(a, end) && coherence.has(end, b))
    };
    of(Object::Init).any(|a| {
        of(Object::Init).any(|b| a < b && meet(candidate, a, b) && !between(a, b) && !between(b, a))
    })
}

fn meet(candidate: &Candidate<'_>, a: usize, b: usize) -> bool {
    let access = |event: usize| candidate.events[event].access();
    access(a).zip(access(b)).is_some_and(|(p, q)| p.meets(q))
}

/// Whether some of the events, of one execution or of several, initialise one object in two places.
pub(crate) fn may_initialise_again<'e>(events: impl Iterator<Item = &'e Event>) -> bool {
    let mut known: Vec<&Event> = vec![];
    for event in events {
        let Some(access) = event.access().filter(|access| access.object == Object::Init) else {
            continue;
        };
        let place = |event: &Event| (event.thread, event.instruction, event.occurrence);
        let other =
            |k: &&Event| place(k) != place(event) && k.access().is_some_and(|a| a.meets(access));
        if known.iter().any(other) {
            return true;
        }
        known.push(event);
    }
    false
}
