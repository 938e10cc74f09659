//! Causality (section 8.9.5): base causality, what of it proxies preserve, and observation before it.

use crate::candidate::Candidate;
use crate::event::{Event, Kind};
use crate::limited;
use crate::options::{Clause, ProxyFencePlace};
use crate::program::{Proxy, ProxyFence};
use crate::relation::Relation;
use crate::synchronise::Edge;

/// Two operations on the same memory that base causality orders only with fences on the path.
#[derive(Debug, Clone)]
pub struct Detour {
    /// The earlier.
    pub from: usize,
    /// The later.
    pub to: usize,
    /// Ways to go: for each, sets of fences, one of each set in this order.
    pub ways: Vec<Vec<Vec<usize>>>,
}

/// Finds for each pair of memory operations under which of the clauses it falls.
pub fn prepare(candidate: &mut Candidate<'_>) {
    let clauses = candidate.options.clauses;
    let events = &candidate.events;
    let mut detours = vec![];
    for &a in &candidate.memory {
        for &b in &candidate.memory {
            let (x, y) = (&events[a], &events[b]);
            let (Some(p), Some(q)) = (x.access(), y.access()) else { continue };
            if a == b || !p.meets(q) {
                continue;
            }
            if p.proxy == Proxy::Tensor && q.proxy == Proxy::Tensor && is_pipelined(candidate, a, b)
            {
                candidate.pipelined.add(a, b);
            }
            let same_address = p.overlaps(q);
            // 1. The same address, both through the generic proxy. The end of a bulk copy is such a
            //    fence itself: what it did counts as generic for what comes after.
            let generic = leaves_generic(candidate, x) && q.proxy == Proxy::Generic;
            // 2. The same address, the same proxy, the same thread block. A product of a pair acts in the tensor memory of both
            //    its blocks, and each of them takes its half out.
            let block = x.place.cta == y.place.cta
                || p.proxy == Proxy::Tensor
                || !clauses.has(Clause::PreservedSameBlock);
            let same = p.proxy == q.proxy && block;
            if same_address
                && (generic && clauses.has(Clause::PreservedGeneric)
                    || same && clauses.has(Clause::PreservedSameProxy))
            {
                candidate.preserved.add(a, b);
                continue;
            }
            // 3. Aliases, with an alias fence on the path; other proxies, with theirs.
            let ways = ways(candidate, a, b);
            match ways {
                Some(ways) if ways.iter().any(Vec::is_empty) => candidate.preserved.add(a, b),
                Some(ways) if ways.iter().any(|way| way.iter().all(|set| !set.is_empty())) => {
                    detours.push(Detour { from: a, to: b, ways });
                }
                _ => {}
            }
        }
    }
    candidate.detours = detours;
    candidate.classes = limited::classes(candidate);
}

/// Whether what comes after the end of `event` sees it as if it were generic.
fn leaves_generic(candidate: &Candidate<'_>, event: &Event) -> bool {
    event.access().is_some_and(|access| match access.proxy {
        Proxy::Generic => true,
        Proxy::Async | Proxy::TensorMap => {
            event.asynchronous && candidate.options.clauses.has(Clause::CompletionFence)
        }
        _ => false,
    })
}

/// The fences that a path from `x` to `y` has to pass. `None` if no fence helps.
fn ways(candidate: &Candidate<'_>, a: usize, b: usize) -> Option<Vec<Vec<Vec<usize>>>> {
    let (x, y) = (&candidate.events[a], &candidate.events[b]);
    let clauses = candidate.options.clauses;
    let choice = candidate.options.choices.proxy_fence;
    let (p, q) = (x.access()?, y.access()?);
    let joins = clauses.has(Clause::ProxyFenceJoins) && choice != ProxyFencePlace::Nowhere;
    let fences = |proxy: Proxy, near: &Event| -> Vec<usize> {
        let anywhere = choice == ProxyFencePlace::Anywhere || !clauses.has(Clause::ProxyFenceBlock);
        let fits = |event: &Event| match event.kind {
            Kind::ProxyFence(ProxyFence::Both(kind, window), _) => {
                let reaches = |window| candidate.program.reaches(window, event.place, p.memory);
                (kind == proxy || !clauses.has(Clause::ProxyFenceKind))
                    && (anywhere || event.place.cta == near.place.cta)
                    && (window.is_none_or(reaches) || !clauses.has(Clause::ProxyFenceSpace))
            }
            _ => false,
        };
        positions(candidate, fits)
    };
    let mut start = vec![];
    let mut ends: Vec<Vec<Vec<usize>>> = vec![vec![]];
    if !leaves_generic(candidate, x) && clauses.has(Clause::ProxyFenceNeeded) {
        if !joins {
            return None;
        }
        start.push(fences(p.proxy, x));
    }
    if q.proxy != Proxy::Generic && clauses.has(Clause::ProxyFenceNeeded) {
        if !joins {
            return None;
        }
        ends = halves(candidate, a, b);
        ends.push(vec![fences(q.proxy, y)]);
    }
    let plain = ends.iter().map(|end| [start.as_slice(), end].concat());
    if p.overlaps(q) {
        // Clause 1 or 2 was dropped, or fences are needed.
        if start.is_empty() && p.proxy == Proxy::Generic && q.proxy == Proxy::Generic {
            return None;
        }
        return Some(plain.collect());
    }
    if !clauses.has(Clause::PreservedAlias) {
        return None;
    }
    if !clauses.has(Clause::AliasFenceNeeded) {
        return Some(plain.collect());
    }
    let alias =
        positions(candidate, |event| matches!(event.kind, Kind::ProxyFence(ProxyFence::Alias, _)));
    // An alias fence joins generic accesses only. So the fences of other proxies stand next to their
    // accesses, and the alias fence stands between: behind the first access's, ahead of the second's.
    let past = start.len();
    let ways = plain.map(|way| {
        let at = if clauses.has(Clause::AliasFenceBetween) { past..=past } else { 0..=way.len() };
        let with = |at| {
            let mut way = way.clone();
            way.insert(at, alias.clone());
            way
        };
        at.map(with).collect::<Vec<_>>()
    });
    Some(ways.flatten().collect())
}

/// The pairs of halves of one-way fences that join the generic proxy with that of `b`: the second in the
/// thread block of `b`, and the two morally strong, as `.cta` halves of two blocks are not. An access of another proxy that
/// has ended needs no first.
fn halves(candidate: &Candidate<'_>, a: usize, b: usize) -> Vec<Vec<Vec<usize>>> {
    let clauses = candidate.options.clauses;
    let first = &candidate.events[a];
    let ends = first.access().is_some_and(|access| access.proxy != Proxy::Generic)
        && leaves_generic(candidate, first);
    let mut ways = vec![];
    for &acquire in &candidate.limited {
        let block = candidate.events[acquire].place.cta == candidate.events[b].place.cta;
        if !block || !limited::is_half(candidate, acquire, a, b, false) {
            continue;
        }
        // The end of an asynchronous access is its release half.
        if ends && clauses.has(Clause::HalfEnd) || !clauses.has(Clause::HalfRelease) {
            ways.push(vec![vec![acquire]]);
        }
        for &release in &candidate.limited {
            let strong =
                candidate.strong.has(release, acquire) || !clauses.has(Clause::HalvesStrong);
            if strong && limited::is_half(candidate, release, a, b, true) {
                ways.push(vec![vec![release], vec![acquire]]);
            }
        }
    }
    ways
}

fn positions(candidate: &Candidate<'_>, fits: impl Fn(&Event) -> bool) -> Vec<usize> {
    (0..candidate.events.len()).filter(|e| fits(&candidate.events[*e])).collect()
}

/// tcgen05: pairs of mma and cp, in this order, on one accumulator of one thread block need order
/// only. (The conditions on shape, kind and group are not visible in a litmus test.)
fn is_pipelined(candidate: &Candidate<'_>, a: usize, b: usize) -> bool {
    let clauses = candidate.options.clauses;
    if !clauses.has(Clause::Tcgen05Completion) {
        return true;
    }
    let matrix = |index: usize| {
        use crate::program::{Op, Tcgen05};
        let event = &candidate.events[index];
        let code = &candidate.program.threads[event.thread].code;
        match code.get(event.instruction).map(|instruction| &instruction.op) {
            Some(Op::Tcgen05(Tcgen05::Mma { .. })) => Some(true),
            Some(Op::Tcgen05(Tcgen05::Copy(..))) => Some(false),
            _ => None,
        }
    };
    clauses.has(Clause::Tcgen05Pipelined) && matrix(a).is_some() && matrix(b) == Some(true)
}

/// Base causality: program order and synchronisation, transitively. `graph` holds both.
pub fn close_base(
    candidate: &Candidate<'_>,
    graph: &Relation,
    synchronises: &[Edge],
    base: &mut Relation,
) {
    base.copy_from(graph);
    if candidate.options.clauses.has(Clause::BaseTransitive) {
        for edge in synchronises {
            base.add(edge.from, edge.to);
        }
        base.close();
        while pipeline(candidate, base) {
            base.close();
        }
        return;
    }
    // Without transitivity only one synchronisation lies on a path.
    base.close();
    let own = base.clone();
    for Edge { from: a, to: b, .. } in synchronises {
        for from in 0..candidate.nodes {
            if from == *a || own.has(from, *a) {
                base.add(from, *b);
                for to in own.successors(*b) {
                    base.add(from, to);
                }
            }
        }
    }
}

/// Of a pipelined pair in order, the second is complete only after the first. Says whether that adds
/// anything.
fn pipeline(candidate: &Candidate<'_>, base: &mut Relation) -> bool {
    let mut grown = false;
    for (a, b) in candidate.pipelined.pairs() {
        let (x, y) = (candidate.done[a], candidate.done[b]);
        if base.has(candidate.ordered[a], b) && !base.has(x, y) {
            base.add(x, y);
            grown = true;
        }
    }
    grown
}

/// Adds proxy-preserved base causality, over events: of all pairs, or of some.
pub fn preserve(
    candidate: &Candidate<'_>,
    base: &Relation,
    pairs: Option<&Relation>,
    preserved: &mut Relation,
) {
    for &event in &candidate.memory {
        let row = preserved.row_mut(event);
        let from = base.row(candidate.done[event]);
        let ordered = base.row(candidate.ordered[event]);
        let clause = candidate.preserved.row(event);
        let pipelined = candidate.pipelined.row(event);
        for (k, word) in row.iter_mut().enumerate() {
            let these = pairs.map_or(u64::MAX, |pairs| pairs.row(event)[k]);
            *word |= (from[k] | ordered[k] & pipelined[k]) & clause[k] & these;
        }
    }
    for detour in &candidate.detours {
        let ends = base.has(candidate.done[detour.from], detour.to)
            && pairs.is_none_or(|pairs| pairs.has(detour.from, detour.to));
        if ends && detour.ways.iter().any(|way| passes(candidate, base, detour, way)) {
            preserved.add(detour.from, detour.to);
        }
    }
}

/// Whether base causality leads through one fence of each set, in their order.
fn passes(candidate: &Candidate<'_>, base: &Relation, detour: &Detour, way: &[Vec<usize>]) -> bool {
    let mut here = vec![candidate.done[detour.from]];
    for set in way {
        here = set.iter().copied().filter(|f| here.iter().any(|h| base.has(*h, *f))).collect();
    }
    here.iter().any(|h| base.has(*h, detour.to))
}

/// Causality: proxy-preserved base causality, or an observation and then that.
pub fn cause(
    candidate: &Candidate<'_>,
    observation: &Relation,
    preserved: &Relation,
    cause: &mut Relation,
) {
    cause.copy_from(preserved);
    if !candidate.options.clauses.has(Clause::CausalityObservation) {
        return;
    }
    for &write in &candidate.writes {
        for read in observation.successors(write) {
            for (word, more) in cause.row_mut(write).iter_mut().zip(preserved.row(read)) {
                *word |= more;
            }
        }
    }
}
