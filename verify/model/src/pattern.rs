//! Release and acquire patterns (section 8.8).
//!
//! A release pattern is kept as its first instruction and the write that others observe, an acquire
//! pattern as the read that observes and its last instruction: a pattern orders only what precedes
//! its first, or follows its last, instruction.

use crate::candidate::Candidate;
use crate::event::{Access, Event, Kind, Object};
use crate::options::Clause;
use crate::program::{Half, ProxyFence, Space};

/// Finds all patterns of a candidate.
pub fn find(candidate: &mut Candidate<'_>) {
    let clauses = candidate.options.clauses;
    let mut releases = std::mem::take(&mut candidate.releases);
    let mut acquires = std::mem::take(&mut candidate.acquires);
    let mut awaited = vec![];
    for (index, event) in candidate.events.iter().enumerate() {
        match &event.kind {
            Kind::Write(access) => {
                releases[index] = release_patterns(candidate, index, event, access);
            }
            Kind::Read(access) if clauses.has(Clause::ReductionAcquiresNot) && access.reduction => {
            }
            Kind::Read(access) if event.asynchronous => {
                let (patterns, completion) = asynchronous_acquire(candidate, index, access);
                acquires[index] = patterns;
                awaited.extend(completion.map(|write| (index, write)));
            }
            Kind::Read(access) => {
                acquires[index] = acquire_patterns(candidate, index, event, access);
            }
            _ => {}
        }
    }
    candidate.releases = releases;
    candidate.acquires = acquires;
    candidate.awaited = awaited;
    tensor_patterns(candidate);
}

/// tcgen05's fences compose with strong operations even if these are relaxed, but order tcgen05
/// operations only: a before_thread_sync (or a commit, which contains one) and then a strong write, a
/// strong read and then an after_thread_sync.
fn tensor_patterns(candidate: &mut Candidate<'_>) {
    let fences: Vec<usize> = (0..candidate.events.len())
        .filter(|e| matches!(candidate.events[*e].kind, Kind::Before | Kind::After))
        .collect();
    if fences.is_empty() {
        return;
    }
    for (index, event) in candidate.events.iter().enumerate() {
        let Some(access) = event.access().filter(|access| access.order.is_strong()) else {
            continue;
        };
        if event.is_write() && event.asynchronous && matches!(access.object, Object::Complete(_)) {
            candidate.tensor_releases[index].push(candidate.done[index]);
        }
        for &fence in &fences {
            let other = &candidate.events[fence];
            if event.is_write() && other.kind == Kind::Before && other.precedes(event) {
                candidate.tensor_releases[index].push(candidate.ordered[fence]);
            }
            if event.is_read() && other.kind == Kind::After && event.precedes(other) {
                candidate.tensor_acquires[index].push(candidate.ordered[fence]);
            }
        }
    }
}

/// The first instructions of the release patterns whose write is `write`.
fn release_patterns(
    candidate: &Candidate<'_>,
    write: usize,
    event: &Event,
    access: &Access,
) -> Vec<usize> {
    let clauses = candidate.options.clauses;
    let mut firsts = vec![];
    let strong = access.order.is_strong() || !clauses.has(Clause::ReleaseStrong);
    // 1. A release operation on M; 5. a releasing asynchronous write.
    let own = if event.asynchronous && !matches!(access.object, Object::Complete(_)) {
        Clause::ReleaseAsync
    } else {
        Clause::ReleaseOperation
    };
    if access.order.semantics.releases() && clauses.has(own) {
        firsts.push(write);
    }
    if !strong {
        return firsts;
    }
    for (first, earlier) in thread_of(candidate, event) {
        if earlier.asynchronous || earlier.step >= event.step {
            continue;
        }
        match &earlier.kind {
            // 2. A release operation on M, then a strong write to M.
            Kind::Write(other)
                if !event.asynchronous
                    && other.order.semantics.releases()
                    && (other.overlaps_completely(access)
                        || !clauses.has(Clause::ReleaseSameLocation))
                    && clauses.has(Clause::ReleaseThenWrite) =>
            {
                firsts.push(first);
            }
            // 3. A releasing fence, then a strong write to M; 4. an asynchronous one.
            Kind::Fence(..) | Kind::ProxyFence(..) => {
                let releases = earlier.order().is_some_and(|order| order.semantics.releases());
                let clause = match event.asynchronous {
                    true => Clause::ReleaseFenceAsync,
                    false => Clause::ReleaseFence,
                };
                // The implicit complete-tx orders only its own accesses: no fence makes it release more.
                let implicit = matches!(access.object, Object::Complete(_));
                if releases
                    && clauses.has(clause)
                    && !implicit
                    && reaches(candidate, earlier, access)
                {
                    firsts.push(first);
                }
            }
            _ => {}
        }
    }
    firsts
}

/// The last instructions of the acquire patterns whose read is `read`.
fn acquire_patterns(
    candidate: &Candidate<'_>,
    read: usize,
    event: &Event,
    access: &Access,
) -> Vec<usize> {
    let clauses = candidate.options.clauses;
    let mut lasts = vec![];
    // 1. An acquire operation on M.
    if access.order.semantics.acquires() && clauses.has(Clause::AcquireOperation) {
        lasts.push(read);
    }
    if !access.order.is_strong() && clauses.has(Clause::AcquireStrong) {
        return lasts;
    }
    for (last, later) in thread_of(candidate, event) {
        if !event.precedes(later) {
            continue;
        }
        match &later.kind {
            // 2. A strong read of M, then an acquire operation on M.
            Kind::Read(other) => {
                let reduction = other.reduction && clauses.has(Clause::ReductionAcquiresNot);
                if other.order.semantics.acquires()
                    && !reduction
                    && (other.overlaps_completely(access)
                        || !clauses.has(Clause::AcquireSameLocation))
                    && clauses.has(Clause::AcquireAfterRead)
                {
                    lasts.push(last);
                }
            }
            // 3. A strong read of M, then an acquiring fence.
            Kind::Fence(..) | Kind::ProxyFence(..) => {
                let acquires = later.order().is_some_and(|order| order.semantics.acquires());
                if acquires
                    && clauses.has(Clause::AcquireFence)
                    && reaches(candidate, later, access)
                {
                    lasts.push(last);
                }
            }
            _ => {}
        }
    }
    lasts
}

/// Acquire pattern 4: the observed completion of an asynchronous strong read of M, then an acquiring fence: the
/// fences behind a wait_group that waits for it, and the write that completes it on an mbarrier
/// (who observes that write is known later).
fn asynchronous_acquire(
    candidate: &Candidate<'_>,
    read: usize,
    access: &Access,
) -> (Vec<usize>, Option<usize>) {
    let event = &candidate.events[read];
    if !access.order.is_strong() || !candidate.options.clauses.has(Clause::AcquireAsync) {
        return (vec![], None);
    }
    let mut lasts = vec![];
    let waits = |wait: usize| {
        matches!(candidate.events[wait].kind, Kind::Local)
            && candidate.graph.has(candidate.done[read], wait)
    };
    for (last, fence) in thread_of(candidate, event) {
        let after =
            thread_of(candidate, event).any(|(wait, other)| waits(wait) && other.precedes(fence));
        if after && is_acquiring_fence(fence) && reaches(candidate, fence, access) {
            lasts.push(last);
        }
    }
    let completion = thread_of(candidate, event).find(|(write, other)| {
        let first = other.access().map(|access| access.object);
        other.is_write()
            && matches!(first, Some(Object::Complete(first)) if first <= read && read < *write)
    });
    (lasts, completion.map(|(write, _)| write))
}

/// Whether it is an acquiring fence.
pub fn is_acquiring_fence(event: &Event) -> bool {
    matches!(event.kind, Kind::Fence(..) | Kind::ProxyFence(..))
        && event.order().is_some_and(|order| order.semantics.acquires())
}

/// Whether a fence that is limited to objects in shared memory synchronises through this one. What it
/// orders then is limited once more, in `limited`.
fn reaches(candidate: &Candidate<'_>, fence: &Event, access: &Access) -> bool {
    match fence.kind {
        Kind::Fence(_, Some(_))
        | Kind::ProxyFence(ProxyFence::Half(Half { window: Some(_), .. }), _) => {
            matches!(candidate.program.memories[access.memory].space, Space::Shared(_))
        }
        _ => true,
    }
}

/// The events of the thread of `event`, with their positions.
fn thread_of<'c>(
    candidate: &'c Candidate<'_>,
    event: &Event,
) -> impl Iterator<Item = (usize, &'c Event)> + use<'c> {
    let thread = event.thread;
    let start = candidate.starts[thread];
    let end = candidate.starts.get(thread + 1).copied().unwrap_or(candidate.events.len());
    candidate.events[start..end]
        .iter()
        .enumerate()
        .map(move |(index, event)| (start + index, event))
}
