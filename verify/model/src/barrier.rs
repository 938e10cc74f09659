//! Barriers (section 8.9.4, clauses 2 and 3): who meets whom.
//!
//! A barrier of a thread block is used in phases; a phase is over when exactly as many arrivals as
//! the instructions say are in. Which arrivals fall into which phase is decided here, in every
//! possible way. A way in which some thread waits forever is no completed execution.

use crate::candidate::Candidate;
use crate::event::{Barrier, Event, Kind};
use crate::options::Clause;
use crate::relation::Relation;
use crate::scope::Cluster;

/// One way in which threads meet: base causality that barriers add.
#[derive(Debug, Clone, Default)]
pub struct Meeting {
    /// Pairs of nodes.
    pub edges: Vec<(usize, usize)>,
}

/// An arrival, with the wait that belongs to it.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    arrive: usize,
    wait: Option<usize>,
    count: Option<u32>,
}

/// For each phase of one barrier, its arrivals.
type Phases = Vec<Vec<Arrival>>;

/// All ways in which the barriers of a candidate can work. None if some thread stays blocked.
pub fn meetings(candidate: &Candidate<'_>) -> Vec<Meeting> {
    let events = &candidate.events;
    let mut barriers: Vec<(u32, u32)> = vec![];
    let mut clusters: Vec<Cluster> = vec![];
    for event in events {
        match event.kind {
            Kind::Arrive(Barrier::Block(id, _)) => barriers.push((event.place.cta, id)),
            Kind::Arrive(Barrier::Cluster(_)) | Kind::Wait(Barrier::Cluster(_)) => {
                clusters.push(event.place.cluster);
            }
            _ => {}
        }
    }
    if barriers.is_empty() && clusters.is_empty() {
        return vec![Meeting::default()];
    }
    barriers.sort_unstable();
    barriers.dedup();
    clusters.sort_unstable();
    clusters.dedup();

    // Edges that must be respected for the program to end, and those that order memory.
    let mut ways: Vec<(Edges, Edges)> = vec![(vec![], vec![])];
    for (cta, id) in barriers {
        let mut next = vec![];
        for phases in block_phases(candidate, cta, id) {
            let (execution, memory) = block_edges(candidate, &phases);
            next.extend(ways.iter().map(|(a, b)| {
                ([a.as_slice(), &execution].concat(), [b.as_slice(), &memory].concat())
            }));
        }
        ways = next;
    }
    for cluster in clusters {
        let Some((execution, memory)) = cluster_edges(candidate, cluster) else { return vec![] };
        for (a, b) in &mut ways {
            a.extend(&execution);
            b.extend(&memory);
        }
    }
    ways.retain(|(execution, _)| {
        let mut graph: Relation = candidate.order.clone();
        for (a, b) in execution {
            graph.add(*a, *b);
        }
        graph.is_acyclic()
    });
    ways.into_iter().map(|(_, edges)| Meeting { edges }).collect()
}

/// The ways to put the arrivals at one barrier of a thread block into phases.
fn block_phases(candidate: &Candidate<'_>, cta: u32, id: u32) -> Vec<Phases> {
    let threads = &candidate.program.threads;
    let members = threads.iter().filter(|thread| thread.place.cta == cta).count() as u32;
    let mut queues: Vec<Vec<Arrival>> = vec![vec![]; threads.len()];
    for (index, event) in candidate.events.iter().enumerate() {
        let Kind::Arrive(Barrier::Block(this, count)) = event.kind else { continue };
        if event.place.cta == cta && this == id {
            let waits = candidate.events.get(index + 1).is_some_and(|next| {
                next.thread == event.thread
                    && next.instruction == event.instruction
                    && matches!(next.kind, Kind::Wait(_))
            });
            let count = Some(count.unwrap_or(members));
            queues[event.thread].push(Arrival {
                arrive: index,
                wait: waits.then_some(index + 1),
                count,
            });
        }
    }
    let mut found = vec![];
    assign(&queues, &mut vec![0; queues.len()], &mut vec![], &mut found);
    found
}

/// Adds phase after phase until no thread waits any more.
fn assign(
    queues: &[Vec<Arrival>],
    next: &mut Vec<usize>,
    phases: &mut Phases,
    found: &mut Vec<Phases>,
) {
    let waiting =
        queues.iter().zip(next.iter()).any(|(q, n)| q[*n..].iter().any(|a| a.wait.is_some()));
    if !waiting {
        found.push(phases.clone());
        return;
    }
    let mut choices = vec![];
    select(queues, next, 0, &mut vec![], &mut choices);
    for phase in choices {
        let before = next.clone();
        for (thread, queue) in queues.iter().enumerate() {
            let taken = phase.iter().filter(|a| queue.iter().any(|b| a.arrive == b.arrive)).count();
            next[thread] += taken;
        }
        phases.push(phase);
        assign(queues, next, phases, found);
        phases.pop();
        *next = before;
    }
}

/// The sets of next arrivals, from thread `thread` on, that complete a phase.
fn select(
    queues: &[Vec<Arrival>],
    next: &[usize],
    thread: usize,
    chosen: &mut Vec<Arrival>,
    found: &mut Vec<Vec<Arrival>>,
) {
    let agreed = chosen.first().and_then(|arrival| arrival.count);
    if agreed.is_some_and(|count| chosen.len() == count as usize) {
        found.push(chosen.clone());
        return;
    }
    if thread == queues.len() {
        return;
    }
    select(queues, next, thread + 1, chosen, found);
    // A thread may arrive several times without waiting; a wait ends its part in the phase.
    let length = chosen.len();
    for arrival in &queues[thread][next[thread]..] {
        let agreed = chosen.first().and_then(|arrival| arrival.count);
        if agreed
            .is_some_and(|count| arrival.count != Some(count) || chosen.len() == count as usize)
        {
            break;
        }
        chosen.push(*arrival);
        select(queues, next, thread + 1, chosen, found);
        if arrival.wait.is_some() {
            break;
        }
    }
    chosen.truncate(length);
}

type Edges = Vec<(usize, usize)>;

fn block_edges(candidate: &Candidate<'_>, phases: &Phases) -> (Edges, Edges) {
    let clauses = candidate.options.clauses;
    let mut edges = vec![];
    let mut memory = vec![];
    for (number, phase) in phases.iter().enumerate() {
        for arrival in phase {
            for wait in phase.iter().filter_map(|other| other.wait) {
                edges.push((arrival.arrive, wait));
            }
            // Without phases, an arrival would synchronise with every wait at the barrier.
            let others =
                if clauses.has(Clause::BarrierPhase) { &phases[number..=number] } else { phases };
            for wait in others.iter().flatten().filter_map(|other| other.wait) {
                if !candidate.order.has(wait, arrival.arrive) {
                    memory.push((arrival.arrive, wait));
                }
            }
        }
    }
    if !clauses.has(Clause::BarrierSynchronises) {
        memory.clear();
    }
    (edges, memory)
}

/// The cluster's barrier: a thread's n-th wait needs the n-th arrival of every thread of the cluster
/// that has one. `None` if a thread waits without having arrived.
fn cluster_edges(candidate: &Candidate<'_>, cluster: Cluster) -> Option<(Edges, Edges)> {
    let clauses = candidate.options.clauses;
    let mut arrivals: Vec<(usize, u32, bool)> = vec![];
    let mut waits: Vec<(usize, u32)> = vec![];
    let mut counts = vec![(0, 0); candidate.program.threads.len()];
    for (index, event) in candidate.events.iter().enumerate() {
        let (arrived, waited) = &mut counts[event.thread];
        match event.kind {
            Kind::Arrive(Barrier::Cluster(releases)) if event.place.cluster == cluster => {
                // A second arrival before the wait is no valid program: it never ends.
                if arrived != waited {
                    return None;
                }
                *arrived += 1;
                arrivals.push((index, *arrived, releases));
            }
            Kind::Wait(Barrier::Cluster(_)) if event.place.cluster == cluster => {
                *waited += 1;
                if waited > arrived {
                    return None;
                }
                waits.push((index, *waited));
            }
            _ => {}
        }
    }
    let mut edges = vec![];
    let mut memory = vec![];
    for (arrive, phase, releases) in &arrivals {
        for (wait, _) in waits.iter().filter(|(_, of)| of == phase) {
            edges.push((*arrive, *wait));
            if *releases || !clauses.has(Clause::ClusterRelaxed) {
                memory.push((*arrive, *wait));
            } else {
                released_before(candidate, *arrive, *wait, &mut memory);
            }
        }
    }
    if !clauses.has(Clause::ClusterSynchronises) {
        memory.clear();
    }
    Some((edges, memory))
}

/// What a relaxed arrival passes on: what releasing fences before it release, and the
/// initialisations before a `fence.mbarrier_init`.
fn released_before(candidate: &Candidate<'_>, arrive: usize, wait: usize, memory: &mut Edges) {
    let clauses = candidate.options.clauses;
    let here = &candidate.events[arrive];
    let there = candidate.events[wait].place;
    let before = |x: &Event, y: &Event| x.precedes(y);
    for (index, event) in candidate.events.iter().enumerate() {
        if !before(event, here) {
            continue;
        }
        match &event.kind {
            Kind::Fence(order, None)
                if order.semantics.releases() && order.scope.contains(event.place, there) =>
            {
                memory.push((index, wait));
            }
            // tcgen05's fences compose with any execution barrier, but for tcgen05 operations only.
            Kind::Before => {
                let waited = &candidate.events[wait];
                let after = candidate
                    .events
                    .iter()
                    .enumerate()
                    .filter(|(_, other)| other.kind == Kind::After && before(waited, other));
                let from = candidate.ordered[index];
                memory.extend(after.map(|(fence, _)| (from, candidate.ordered[fence])));
            }
            Kind::InitFence => {
                if !clauses.has(Clause::InitFenceOnly) {
                    memory.push((index, wait));
                }
                for (init, other) in candidate.events.iter().enumerate() {
                    let is_init = other
                        .access()
                        .is_some_and(|access| access.object == crate::event::Object::Init);
                    if is_init && before(other, event) && clauses.has(Clause::InitFenceReleases) {
                        memory.push((init, wait));
                    }
                }
            }
            _ => {}
        }
    }
}
