//! No-thin-air (section 8.10.4): values do not justify themselves.
//!
//! Values only ever come from the least fixed point of `local`. What is left is that a value which
//! some other execution can produce must not justify itself in this one. Reads-from and
//! dependencies without a cycle are fine, by a quick look at syntactic dependencies. If there is a
//! cycle, what counts is not the syntax (an implementation may use any reasoning to see that a store
//! does not depend on a load) but this: a write is *justified* once the reads that are justified fix
//! it, whatever all other reads of its thread return; a read is justified once its sources are. Weak reads
//! that could be one read are taken to return the same. An atomic operation is one: its write is justified
//! only behind its read, even if its value does not depend on what that returns (`exch`).

use crate::candidate::Candidate;
use crate::event::{Ballot, Event, Kind};
use crate::execution::Decisions;
use crate::local::Local;
use crate::options::Clause;
use crate::relation::Relation;
use crate::relevance::Depth;

/// Whether every value of the execution is justified. `alternatives` are all ways of each thread. `None` if
/// that depends on values that are not known.
pub fn holds(
    candidate: &Candidate<'_>,
    decisions: &Decisions,
    alternatives: &[Vec<Local>],
    depth: Depth,
) -> Option<bool> {
    if !candidate.options.clauses.has(Clause::NoThinAir) {
        return Some(true);
    }
    let mut graph = Relation::new(candidate.events.len());
    for (index, way) in decisions.reads.iter().enumerate() {
        let Some(way) = way else { continue };
        for write in candidate.sources[index].ways[*way].iter().filter_map(|(_, write)| *write) {
            graph.add(write, candidate.reads[index]);
        }
    }
    for (thread, way) in candidate.ways.iter().enumerate() {
        let start = candidate.starts[thread];
        for (event, depends) in way.depends.iter().enumerate() {
            let write = start + event;
            for read in 0..way.events.len().min(event) {
                let told = way.events[read].is_read() || ballot(&way.events[read]).is_some();
                if depends >> read.min(127) & 1 == 1 && told {
                    graph.add(start + read, write);
                }
            }
        }
    }
    // What a vote at a barrier tells depends on all that voted.
    for (arrive, wait) in votes(candidate, decisions) {
        graph.add(arrive, wait);
    }
    match (graph.is_acyclic(), depth) {
        (true, _) => Some(true),
        (false, Depth::Asked) => None,
        (false, _) => Some(justified(candidate, decisions, alternatives)),
    }
}

/// The semantic question, by iteration from nothing.
pub fn justified(
    candidate: &Candidate<'_>,
    decisions: &Decisions,
    alternatives: &[Vec<Local>],
) -> bool {
    let count = candidate.events.len();
    let mut done = vec![false; count];
    loop {
        let mut grown = false;
        for (index, &read) in candidate.reads.iter().enumerate() {
            let way = decisions.reads[index].map(|way| &candidate.sources[index].ways[way]);
            let known = |write: &Option<usize>| write.is_none_or(|write| done[write]);
            if !done[read] && way.is_some_and(|way| way.iter().all(|(_, write)| known(write))) {
                done[read] = true;
                grown = true;
            }
        }
        for (event, vote) in candidate.events.iter().enumerate() {
            let known = match vote.kind {
                Kind::Arrive(_, Some(_)) => depends_on(candidate, event).all(|read| done[read]),
                Kind::Wait(_, Some(_)) => votes(candidate, decisions)
                    .filter(|(_, wait)| *wait == event)
                    .all(|(arrive, _)| done[arrive]),
                _ => continue,
            };
            grown |= known && !done[event];
            done[event] |= known;
        }
        for &write in &candidate.writes {
            let read_first = !candidate.options.clauses.has(Clause::RmwReadsFirst)
                || partner(candidate, write).is_none_or(|read| done[read]);
            if !done[write] && read_first && is_fixed(candidate, &done, write, alternatives) {
                done[write] = true;
                grown = true;
            }
        }
        if !grown {
            return candidate.writes.iter().chain(&candidate.reads).all(|event| done[*event]);
        }
    }
}

/// The other half of an atomic operation.
fn partner(candidate: &Candidate<'_>, event: usize) -> Option<usize> {
    candidate.events[event].access().and_then(|access| access.partner)
}

/// Whether every way of the thread that agrees with the justified reads has this write.
fn is_fixed(
    candidate: &Candidate<'_>,
    done: &[bool],
    write: usize,
    alternatives: &[Vec<Local>],
) -> bool {
    let event = &candidate.events[write];
    let thread = event.thread;
    let start = candidate.starts[thread];
    let own = &candidate.ways[thread].events;
    let mine = &own[write - start];
    // The n-th write of its kind in the thread.
    let number = own[..write - start].iter().filter(|other| same_write(other, mine)).count();
    // An implementation may merge reads that nothing stands between. Where those of this execution agree, it
    // may have done so, and ways in which they differ are none.
    let merged: Vec<_> = mergeable(own).filter(|pair| pair.2).collect();
    let possible = |other: &&Local| {
        merged.is_empty()
            || mergeable(&other.events)
                .all(|(a, b, agree)| agree || !merged.iter().any(|m| (m.0, m.1) == (a, b)))
    };
    alternatives[thread].iter().filter(possible).all(|other| {
        let told = own.iter().enumerate().all(|(index, mine)| {
            let twin = other.events.iter().find(|e| {
                ballot(e).is_some()
                    && std::mem::discriminant(&e.kind) == std::mem::discriminant(&mine.kind)
                    && (e.instruction, e.occurrence) == (mine.instruction, mine.occurrence)
            });
            !matches!(mine.kind, Kind::Wait(_, Some(_)))
                || !done[start + index]
                || twin.is_none_or(|twin| {
                    ballot(twin).map(|b| b.result) == ballot(mine).map(|b| b.result)
                })
        });
        let agrees = told
            && own.iter().enumerate().filter(|(index, e)| e.is_read() && done[start + index]).all(
                |(_, read)| {
                    let twin = other.events.iter().find(|e| {
                        e.is_read()
                            && e.instruction == read.instruction
                            && e.occurrence == read.occurrence
                            && e.access()
                                .zip(read.access())
                                .is_some_and(|(a, b)| a.overlaps_completely(b))
                    });
                    twin.is_none_or(|twin| {
                        twin.access().map(|access| access.value)
                            == read.access().map(|access| access.value)
                    })
                },
            );
        !agrees || other.events.iter().filter(|e| same_write(e, mine)).count() > number
    })
}

/// Which read of a thread: instruction, occurrence, first byte.
type Which = (usize, u32, u32);

/// Pairs of weak reads of one place, with nothing but weak reads between them, and whether they return the same.
fn mergeable(events: &[Event]) -> impl Iterator<Item = (Which, Which, bool)> {
    let weak = |event: &Event| {
        let access = event.access().filter(|_| event.is_read() && !event.asynchronous);
        access.is_some_and(|access| !access.order.is_strong() && !access.is_atomic())
    };
    events.iter().enumerate().filter(move |(_, first)| weak(first)).flat_map(
        move |(index, first)| {
            let near = events[index + 1..].iter().take_while(move |event| weak(event));
            near.filter_map(move |later| {
                let (p, q) = (first.access()?, later.access()?);
                // The value of a read that matters to nothing is as good as any other.
                let same = p.overlaps_completely(q) && p.proxy == q.proxy && !p.any && !q.any;
                let which = |event: &Event| (event.instruction, event.occurrence, p.offset);
                same.then(|| (which(first), which(later), p.value == q.value))
            })
        },
    )
}

/// The vote, if it is one at a barrier.
fn ballot(event: &Event) -> Option<Ballot> {
    match event.kind {
        Kind::Arrive(_, ballot) | Kind::Wait(_, ballot) => ballot,
        _ => None,
    }
}

/// From the votes of a phase to those that are told the result.
fn votes(candidate: &Candidate<'_>, decisions: &Decisions) -> impl Iterator<Item = (usize, usize)> {
    decisions.meeting.iter().copied().filter(|(arrive, _)| {
        candidate.events.get(*arrive).is_some_and(|event| ballot(event).is_some())
    })
}

/// The reads (and results of votes) that an operation may depend on.
fn depends_on(candidate: &Candidate<'_>, event: usize) -> impl Iterator<Item = usize> {
    let thread = candidate.events[event].thread;
    let (start, way) = (candidate.starts[thread], candidate.ways[thread]);
    let depends = way.depends[event - start];
    (start..event).filter(move |read| {
        let told =
            way.events[read - start].is_read() || ballot(&way.events[read - start]).is_some();
        told && depends >> (read - start).min(127) & 1 == 1
    })
}

fn same_write(a: &Event, b: &Event) -> bool {
    match (a.access(), b.access()) {
        (Some(x), Some(y)) if a.is_write() && b.is_write() => {
            x.overlaps_completely(y)
                && x.value == y.value
                && x.order == y.order
                && x.proxy == y.proxy
                && x.is_atomic() == y.is_atomic()
                && a.asynchronous == b.asynchronous
        }
        _ => false,
    }
}
