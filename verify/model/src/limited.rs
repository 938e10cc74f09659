//! Fences that order less than everything: `sync_restrict`, and the halves of one-way proxy fences.
//!
//! Such a fence synchronises like any other, but the order that comes of it holds for some operations
//! only: those on objects in the memory that `sync_restrict` names, those that go from the generic proxy
//! to the fence's own, those on the tensor map at its address. So the edge that it adds to base
//! causality counts for a pair of operations only if the fence admits the pair; pairs that are
//! admitted by the same fences share one closure. (`fence.…::read` is not cumulative: it admits earlier
//! reads of its own thread only.)

use crate::candidate::Candidate;
use crate::causality;
use crate::event::{Event, Kind};
use crate::options::Clause;
use crate::program::{Half, ProxyFence, Semantics, Window};
use crate::relation::Relation;
use crate::synchronise::Edge;

/// A set of limited fences, by their positions in [`Candidate::limited`]. Those past the 128th admit nothing.
pub type Fences = u128;

/// Pairs of memory operations that are admitted by the same fences.
#[derive(Clone, Debug)]
pub struct Class {
    /// The fences.
    pub fences: Fences,
    /// The pairs.
    pub pairs: Relation,
}

/// The positions of the limited fences among the events.
pub fn find(events: &[Event]) -> Vec<usize> {
    let limited = |event: &Event| {
        matches!(event.kind, Kind::Fence(_, Some(_)) | Kind::ProxyFence(ProxyFence::Half(_), _))
    };
    (0..events.len()).filter(|event| limited(&events[*event])).collect()
}

/// The set of this fence alone; none if it is not limited.
pub fn set_of(candidate: &Candidate<'_>, event: usize) -> Option<Fences> {
    let at = candidate.limited.iter().position(|limited| *limited == event)?;
    Some(1u128.checked_shl(at as u32).unwrap_or(0))
}

/// Puts all pairs that some limited fence admits into classes.
pub fn classes(candidate: &Candidate<'_>) -> Vec<Class> {
    let mut classes: Vec<Class> = vec![];
    if candidate.limited.is_empty() {
        return classes;
    }
    for &a in &candidate.memory {
        for &b in &candidate.memory {
            let mut fences: Fences = 0;
            for (at, &fence) in candidate.limited.iter().enumerate() {
                if admits(candidate, fence, a, b) {
                    fences |= 1u128.checked_shl(at as u32).unwrap_or(0);
                }
            }
            if fences == 0 || a == b {
                continue;
            }
            let class = classes.iter_mut().find(|class| class.fences == fences);
            match class {
                Some(class) => class.pairs.add(a, b),
                None => {
                    let mut pairs = Relation::new(candidate.events.len());
                    pairs.add(a, b);
                    classes.push(Class { fences, pairs });
                }
            }
        }
    }
    classes
}

/// Whether what the fence synchronises orders `a` before `b`.
fn admits(candidate: &Candidate<'_>, fence: usize, a: usize, b: usize) -> bool {
    let here = &candidate.events[fence];
    let (Some(from), Some(to)) = (candidate.events[a].access(), candidate.events[b].access())
    else {
        return false;
    };
    let clauses = candidate.options.clauses;
    let within = |window: Option<Window>| {
        !clauses.has(Clause::SyncRestrict)
            || window.is_none_or(|window| {
                let program = candidate.program;
                program.reaches(window, here.place, from.memory)
                    && program.reaches(Window::SharedCluster, here.place, to.memory)
            })
    };
    match &here.kind {
        Kind::Fence(order, window) => {
            // A release is about what comes before it in its own block, an acquire about what the
            // whole cluster has.
            let window = match order.semantics {
                Semantics::Release => *window,
                _ => window.map(|_| Window::SharedCluster),
            };
            within(window)
        }
        Kind::ProxyFence(ProxyFence::Half(half), about) => {
            let own_map = about.is_none_or(|map| map == to.memory);
            let own_reads = !half.reads || reads_before(candidate, fence, a);
            (to.proxy == half.to || !clauses.has(Clause::HalfProxy))
                && within(half.window)
                && (own_map || !clauses.has(Clause::TensorMapAddress))
                && (own_reads || !clauses.has(Clause::HalfReads))
        }
        _ => true,
    }
}

/// Whether `a` is a read that the fence's own thread has done.
fn reads_before(candidate: &Candidate<'_>, fence: usize, a: usize) -> bool {
    let (read, fence) = (&candidate.events[a], &candidate.events[fence]);
    read.is_read() && read.precedes(fence)
}

/// Whether a half of a one-way fence is of use for a pair: the part of [`classes`] that does not
/// depend on who synchronises.
pub fn is_half(
    candidate: &Candidate<'_>,
    fence: usize,
    a: usize,
    b: usize,
    releases: bool,
) -> bool {
    let half = matches!(
        candidate.events[fence].kind,
        Kind::ProxyFence(ProxyFence::Half(Half { releases: this, .. }), _) if this == releases
    );
    half && admits(candidate, fence, a, b)
}

/// Base causality as far as pairs of the class see it.
pub fn close(
    candidate: &Candidate<'_>,
    graph: &Relation,
    synchronises: &[Edge],
    class: &Class,
    base: &mut Relation,
) {
    let admitted: Vec<Edge> =
        synchronises.iter().filter(|edge| edge.needs & !class.fences == 0).copied().collect();
    causality::close_base(candidate, graph, &admitted, base);
}
