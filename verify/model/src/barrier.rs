//! Barriers (section 8.9.4, clauses 2 and 3): who meets whom.
//!
//! A barrier of a thread block is used in phases; a phase is over when exactly as many arrivals as
//! the instructions say are in. Which arrivals fall into which phase is decided here, in every
//! possible way. A way in which some thread waits forever is no completed execution.

use crate::candidate::Candidate;
use crate::event::{Ballot, Barrier, Event, Kind};
use crate::options::Clause;
use crate::relation::Relation;
use crate::scope::Cluster;

/// One way in which threads meet: base causality that barriers add.
#[derive(Debug, Clone, Default)]
pub struct Meeting {
    /// Pairs of nodes.
    pub edges: Vec<(usize, usize)>,
    /// Whether votes meet other arrivals in some phase, which PTX leaves undefined.
    pub mixed: bool,
}

/// An arrival, with the wait that belongs to it.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    arrive: usize,
    wait: Option<usize>,
    count: Option<u32>,
    ballot: Option<Ballot>,
}

/// For each phase of one barrier, its arrivals.
type Phases = Vec<Vec<Arrival>>;

/// The ways in which the barriers of a candidate can work, one after the other.
///
/// Phases of different threads follow each other in one order only, and of threads that can be
/// interchanged (and have done the same so far) the first ones take part: what is left out differs from
/// what is tried by names of threads alone.
pub struct Meetings<'c, 'a> {
    candidate: &'c Candidate<'a>,
    /// For each thread a number that it shares with those that it can be interchanged with.
    classes: Vec<usize>,
    /// Steps that were taken.
    pub steps: u64,
    most: u64,
    /// Whether interchangeable threads were folded: the ways are then fewer than there are.
    pub folded: bool,
}

/// What to do with the phases of one barrier: go on after that or not.
type EachPhases<'f, 'c, 'a> = &'f mut dyn FnMut(&mut Meetings<'c, 'a>, &Phases) -> bool;
/// What to do with a phase, and how often each thread arrives in it.
type EachPhase<'f, 'c, 'a> = &'f mut dyn FnMut(&mut Meetings<'c, 'a>, &[Arrival], &[usize]) -> bool;
/// What to do after a way: go on or not.
type Each<'f> = &'f mut dyn FnMut(Meeting) -> bool;

impl<'c, 'a> Meetings<'c, 'a> {
    /// All ways of a candidate, unless that takes more than so many steps.
    pub fn new(candidate: &'c Candidate<'a>, classes: Vec<usize>, most: u64) -> Self {
        Self { candidate, classes, steps: 0, most, folded: false }
    }

    /// Whether there were too many to try.
    pub fn gave_up(&self) -> bool {
        self.steps > self.most
    }

    /// Calls `each` with every way, until it says no. There is none if some thread stays blocked.
    pub fn each(&mut self, each: Each<'_>) {
        let mut barriers: Vec<(u32, u32)> = vec![];
        let mut clusters: Vec<Cluster> = vec![];
        for event in &self.candidate.events {
            match event.kind {
                Kind::Arrive(Barrier::Block(id, _), _) => barriers.push((event.place.cta, id)),
                Kind::Arrive(Barrier::Cluster(_), _) | Kind::Wait(Barrier::Cluster(_), _) => {
                    clusters.push(event.place.cluster);
                }
                _ => {}
            }
        }
        if barriers.is_empty() && clusters.is_empty() {
            each(Meeting::default());
            return;
        }
        barriers.sort_unstable();
        barriers.dedup();
        clusters.sort_unstable();
        clusters.dedup();
        // Edges that must be respected for the program to end, and those that order memory.
        let (mut execution, mut memory) = (vec![], vec![]);
        for cluster in clusters {
            let Some((more, edges)) = cluster_edges(self.candidate, cluster) else { return };
            execution.extend(more);
            memory.extend(edges);
        }
        self.barrier(&barriers, &execution, &memory, false, each);
    }

    /// Every way of the first of these barriers with every way of the others.
    fn barrier(
        &mut self,
        barriers: &[(u32, u32)],
        execution: &Edges,
        memory: &Edges,
        mixed: bool,
        each: Each<'_>,
    ) -> bool {
        let Some((&(cta, id), others)) = barriers.split_first() else {
            let mut graph: Relation = self.candidate.order.clone();
            for (a, b) in execution {
                graph.add(*a, *b);
            }
            return !graph.is_acyclic() || each(Meeting { edges: memory.clone(), mixed });
        };
        let queues = self.queues(cta, id);
        let classes = self.classes.clone();
        let next = vec![0; queues.len()];
        self.assign(&queues, &classes, &next, &mut vec![], &mut |this, phases| {
            let (more, edges) = block_edges(this.candidate, phases);
            this.barrier(
                others,
                &[execution.as_slice(), &more].concat(),
                &[memory.as_slice(), &edges].concat(),
                mixed || phases.iter().any(|phase| is_mixed(phase)),
                each,
            )
        })
    }

    /// The arrivals at a barrier of a thread block, by thread.
    fn queues(&self, cta: u32, id: u32) -> Vec<Vec<Arrival>> {
        let candidate = self.candidate;
        let threads = &candidate.program.threads;
        let members = threads.iter().filter(|thread| thread.place.cta == cta).count() as u32;
        let mut queues: Vec<Vec<Arrival>> = vec![vec![]; threads.len()];
        for (index, event) in candidate.events.iter().enumerate() {
            let Kind::Arrive(Barrier::Block(this, count), ballot) = event.kind else { continue };
            if event.place.cta == cta && this == id {
                let waits = candidate.events.get(index + 1).is_some_and(|next| {
                    next.thread == event.thread
                        && next.instruction == event.instruction
                        && matches!(next.kind, Kind::Wait(..))
                });
                queues[event.thread].push(Arrival {
                    arrive: index,
                    wait: waits.then_some(index + 1),
                    count: Some(count.unwrap_or(members)),
                    ballot,
                });
            }
        }
        queues
    }

    /// Adds phase after phase until no thread waits any more. Says whether to go on.
    fn assign(
        &mut self,
        queues: &[Vec<Arrival>],
        classes: &[usize],
        next: &[usize],
        phases: &mut Phases,
        each: EachPhases<'_, 'c, 'a>,
    ) -> bool {
        let waiting =
            queues.iter().zip(next.iter()).any(|(q, n)| q[*n..].iter().any(|a| a.wait.is_some()));
        if !waiting {
            return each(self, phases);
        }
        let mut taken = vec![0; queues.len()];
        self.select(queues, classes, next, 0, &mut taken, &mut vec![], &mut |this, phase, taken| {
            if !is_first(queues, phases.last(), phase) || !ballots_agree(phase) {
                return true;
            }
            // What a thread did from now on tells it from those that did something else.
            let mut refined: Vec<usize> = vec![];
            for thread in 0..queues.len() {
                let same = |other: &usize| {
                    classes[*other] == classes[thread] && taken[*other] == taken[thread]
                };
                refined.push((0..thread).find(same).map_or(thread, |other| refined[other]));
            }
            let mut after = next.to_vec();
            for (next, taken) in after.iter_mut().zip(taken) {
                *next += taken;
            }
            phases.push(phase.to_vec());
            let go_on = this.assign(queues, &refined, &after, phases, each);
            phases.pop();
            go_on
        })
    }

    /// The sets of next arrivals, from thread `thread` on, that complete a phase. Says whether to go on.
    #[allow(clippy::too_many_arguments)]
    fn select(
        &mut self,
        queues: &[Vec<Arrival>],
        classes: &[usize],
        next: &[usize],
        thread: usize,
        taken: &mut Vec<usize>,
        chosen: &mut Vec<Arrival>,
        found: EachPhase<'_, 'c, 'a>,
    ) -> bool {
        self.steps += 1;
        if self.gave_up() {
            return false;
        }
        let agreed = chosen.first().and_then(|arrival| arrival.count);
        if agreed.is_some_and(|count| chosen.len() == count as usize) {
            return found(self, chosen, taken);
        }
        if thread == queues.len() {
            return true;
        }
        // Too few are left to complete the phase.
        let left: usize =
            queues.iter().zip(next).skip(thread).map(|(q, n)| in_one_phase(&q[*n..])).sum();
        if agreed.is_some_and(|count| chosen.len() + left < count as usize)
            || agreed.is_none() && left == 0
        {
            return true;
        }
        // A thread may arrive several times without waiting; a wait ends its part in the phase. One that can
        // be interchanged with an earlier one arrives no more often than that.
        let twin = (0..thread).rev().find(|other| classes[*other] == classes[thread]);
        let most = twin.map_or(usize::MAX, |twin| taken[twin]);
        let length = chosen.len();
        let mut go_on = true;
        for (number, arrival) in queues[thread][next[thread]..].iter().enumerate() {
            let agreed = chosen.first().and_then(|arrival| arrival.count);
            let full = agreed.is_some_and(|count| {
                arrival.count != Some(count) || chosen.len() == count as usize
            });
            if full {
                break;
            }
            if number == most {
                self.folded = true;
                break;
            }
            chosen.push(*arrival);
            taken[thread] = number + 1;
            go_on = self.select(queues, classes, next, thread + 1, taken, chosen, found);
            if !go_on || arrival.wait.is_some() {
                break;
            }
        }
        chosen.truncate(length);
        taken[thread] = 0;
        go_on && self.select(queues, classes, next, thread + 1, taken, chosen, found)
    }
}

/// How many of these arrivals of one thread one phase can have.
fn in_one_phase(queue: &[Arrival]) -> usize {
    queue.iter().position(|arrival| arrival.wait.is_some()).map_or(queue.len(), |at| at + 1)
}

/// Whether a phase may follow the one before. Two phases without a thread in common could as well come the
/// other way round: only one of the orders is tried.
fn is_first(queues: &[Vec<Arrival>], before: Option<&Vec<Arrival>>, phase: &[Arrival]) -> bool {
    let Some(before) = before else { return true };
    let threads = |phase: &[Arrival]| -> Vec<usize> {
        let of = |a: &Arrival| queues.iter().position(|q| q.iter().any(|b| b.arrive == a.arrive));
        phase.iter().filter_map(of).collect()
    };
    let (earlier, later) = (threads(before), threads(phase));
    later.iter().any(|thread| earlier.contains(thread)) || earlier.first() < later.first()
}

/// Whether every voter of a phase was told what its reduction makes of all votes. Arrivals without a
/// vote do not count.
fn ballots_agree(phase: &[Arrival]) -> bool {
    let ballots = || phase.iter().filter_map(|arrival| arrival.ballot);
    let votes: Vec<bool> = ballots().map(|ballot| ballot.own).collect();
    ballots().all(|ballot| ballot.op.of(&votes) == ballot.result)
}

/// Whether votes meet plain arrivals or votes that are counted in another way.
fn is_mixed(phase: &[Arrival]) -> bool {
    let kind = |arrival: &Arrival| arrival.ballot.map(|ballot| ballot.op);
    phase.windows(2).any(|pair| kind(&pair[0]) != kind(&pair[1]))
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
            Kind::Arrive(Barrier::Cluster(releases), _) if event.place.cluster == cluster => {
                // A second arrival before the wait is no valid program: it never ends.
                if arrived != waited {
                    return None;
                }
                *arrived += 1;
                arrivals.push((index, *arrived, releases));
            }
            Kind::Wait(Barrier::Cluster(_), _) if event.place.cluster == cluster => {
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
