//! Which writes surely can write different values (8.10.4).
//!
//! What a read surely can return, whatever the execution: the first contents, unless its thread wrote there
//! before, numbers that are stored, and what other writes make of those.

use super::expression::{Expression, Partial, Values};
use crate::candidate::Candidate;
use crate::event::{Access, Event};

/// For each write whether it can write different values.
pub fn varying(candidate: &Candidate<'_>, values: &Values) -> Vec<bool> {
    let count = candidate.events.len();
    let mut first: Vec<Vec<u128>> = vec![vec![]; count];
    for &read in &candidate.reads {
        first[read] = stored(candidate, values, read);
    }
    (0..count)
        .map(|write| {
            let Some(read) = only_read(candidate, values, write) else { return false };
            let mut possible = first[read].clone();
            for other in near(candidate, read).filter(|other| *other != write) {
                if let Some(from) = only_read(candidate, values, other)
                    && same_place(candidate, from, read)
                {
                    let known = first[from].iter();
                    possible
                        .extend(known.filter_map(|v| result(candidate, values, other, from, *v)));
                }
            }
            let mut results =
                possible.iter().filter_map(|v| result(candidate, values, write, read, *v));
            let one = results.next();
            one.is_some_and(|one| results.any(|other| other != one))
        })
        .collect()
}

/// Whether two writes differ in their values at most.
pub fn same_manner(a: &Event, b: &Event) -> bool {
    a.access().zip(b.access()).is_some_and(|(p, q)| {
        p.overlaps_completely(q) && p.order == q.order && p.is_atomic() == q.is_atomic()
    })
}

/// Numbers that are stored where a read reads, and the first contents if they are in reach.
fn stored(candidate: &Candidate<'_>, values: &Values, read: usize) -> Vec<u128> {
    let this = &candidate.events[read];
    let Some(access) = this.access() else { return vec![] };
    let nothing = vec![Partial::UNKNOWN; candidate.events.len()];
    let mut all: Vec<u128> = near(candidate, read)
        .filter_map(|write| {
            let value = values.writes[write].as_ref()?.value(&nothing);
            value.is_whole().then(|| value.low(access.bytes as usize))
        })
        .collect();
    let own = |write: usize| candidate.events[write].precedes(this);
    if !near(candidate, read).any(own) {
        let init = &candidate.program.memories[access.memory].init;
        let range = access.offset as usize..(access.offset + access.bytes) as usize;
        all.push(init[range].iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte)));
    }
    all
}

/// The writes of exactly what a read reads.
fn near<'c>(candidate: &'c Candidate<'_>, read: usize) -> impl Iterator<Item = usize> + 'c {
    candidate.writes.iter().copied().filter(move |write| same_place(candidate, *write, read))
}

fn same_place(candidate: &Candidate<'_>, a: usize, b: usize) -> bool {
    let access = |event: usize| candidate.events[event].access();
    access(a).zip(access(b)).is_some_and(|(p, q): (&Access, &Access)| p.overlaps_completely(q))
}

/// The one read on which a write depends. Weak reads do not count: some of them may be merged.
fn only_read(candidate: &Candidate<'_>, values: &Values, write: usize) -> Option<usize> {
    let mut reads = vec![];
    let value: &Expression = values.writes[write].as_ref()?;
    let bytes = candidate.events[write].access()?.bytes as usize;
    (0..bytes).for_each(|at| value.leaves(at, &mut |read, _| reads.push(read)));
    let read = *reads.first()?;
    let strong = candidate.events[read].is_strong();
    (strong && reads.iter().all(|other| *other == read)).then_some(read)
}

/// What the write writes if the read returns a value.
fn result(
    candidate: &Candidate<'_>,
    values: &Values,
    write: usize,
    read: usize,
    value: u128,
) -> Option<u128> {
    let mut reads = vec![Partial::UNKNOWN; candidate.events.len()];
    reads[read] = Partial::whole(value);
    let bytes = candidate.events[write].access()?.bytes as usize;
    let result = values.writes[write].as_ref()?.value(&reads);
    (result.prefix() >= bytes).then(|| result.low(bytes))
}
