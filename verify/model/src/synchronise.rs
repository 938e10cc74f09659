//! Synchronisation at run time (section 8.9.4, clauses 1 and 4). Barriers are in `barrier`.

use crate::candidate::Candidate;
use crate::event::Object;
use crate::execution::Decisions;
use crate::limited::{self, Fences};
use crate::options::Clause;
use crate::pattern;
use crate::relation::Relation;

/// A pair of nodes that synchronise, from the end of the first to the start of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// From.
    pub from: usize,
    /// To.
    pub to: usize,
    /// The limited fences at its ends: it counts only for pairs that all of them admit.
    pub needs: Fences,
}

impl Edge {
    fn plain((from, to): (usize, usize)) -> Self {
        Edge { from, to, needs: 0 }
    }
}

/// The pairs.
pub fn derive(
    candidate: &Candidate<'_>,
    observation: &Relation,
    decisions: &Decisions,
    pairs: &mut Vec<Edge>,
) {
    let clauses = candidate.options.clauses;
    pairs.clear();
    // 1. fence.sc operations in the Fence-SC order.
    if clauses.has(Clause::FenceScSynchronises) {
        pairs.extend(decisions.fences.iter().copied().map(Edge::plain));
    }
    // 4. Release patterns with the acquire patterns that observe them.
    if !clauses.has(Clause::PatternsSynchronise) {
        return;
    }
    for &write in &candidate.writes {
        if candidate.releases[write].is_empty() && candidate.tensor_releases[write].is_empty() {
            continue;
        }
        for read in observation.successors(write) {
            for &from in &candidate.tensor_releases[write] {
                let to = candidate.tensor_acquires[read].iter();
                pairs.extend(to.map(|to| Edge::plain((from, *to))));
            }
            for &first in &candidate.releases[write] {
                for &last in &candidate.acquires[read] {
                    pattern_pair(candidate, [first, write, read, last], pairs);
                }
            }
        }
    }
    // Acquire pattern 4: a wait that saw the completion, then an acquiring fence.
    for &(read, completion) in &candidate.awaited {
        for wait in observation.successors(completion) {
            let event = &candidate.events[wait];
            if event.access().is_none_or(|access| access.object != Object::Passed) {
                continue;
            }
            for (last, fence) in candidate.events.iter().enumerate() {
                if !event.precedes(fence) || !pattern::is_acquiring_fence(fence) {
                    continue;
                }
                for &write in &candidate.writes {
                    if observation.has(write, read) {
                        for &first in &candidate.releases[write] {
                            pattern_pair(candidate, [first, write, read, last], pairs);
                        }
                    }
                }
            }
        }
    }
}

/// A release pattern (first instruction, write) whose write reaches the read of an acquire pattern
/// (read, last instruction).
fn pattern_pair(
    candidate: &Candidate<'_>,
    [first, write, read, last]: [usize; 4],
    pairs: &mut Vec<Edge>,
) {
    let clauses = candidate.options.clauses;
    let (x, y) = (&candidate.events[first], &candidate.events[last]);
    // Operations of one thread are ordered already, unless one of them is outside program order.
    if x.thread == y.thread && !x.asynchronous {
        return;
    }
    if candidate.strong.has(first, last) || !clauses.has(Clause::PatternsStrong) {
        let from = if clauses.has(Clause::ReleaseFirst) { first } else { write };
        let to = if clauses.has(Clause::AcquireLast) { last } else { read };
        let limits =
            [first, last].into_iter().filter_map(|fence| limited::set_of(candidate, fence));
        // A fence past those that sets have room for admits nothing.
        let Some(needs) =
            limits.into_iter().try_fold(0, |all, set| (set != 0).then_some(all | set))
        else {
            return;
        };
        pairs.push(Edge { from: candidate.done[from], to, needs });
    }
}
