//! A candidate: one way for every thread, put together.
//!
//! Everything that does not depend on who reads from whom is computed here once: program order,
//! morally strong pairs, patterns, the moments of asynchronous operations, what each read could
//! have read from. The search then decides the rest.

use crate::event::{Event, Kind, Object};
use crate::local::{Local, Moment};
use crate::options::{Clause, Options, Tcgen05Fence};
use crate::pattern;
use crate::program::{Program, Proxy, Semantics};
use crate::race::{self, Race};
use crate::relation::Relation;
use crate::strong;
use crate::{causality, limited, reads};

/// A candidate.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// How it is judged.
    pub options: &'a Options,
    /// The program, its first contents spelled in letters.
    pub program: &'a Program,
    /// The first contents as they are.
    pub contents: &'a Program,
    /// The way of each thread.
    pub ways: Vec<&'a Local>,
    /// All operations, thread by thread.
    pub events: Vec<Event>,
    /// Where each thread's operations begin.
    pub starts: Vec<usize>,
    /// Events and the later moments of asynchronous ones.
    pub nodes: usize,
    /// For each event the node of its end: where what it precedes is looked up.
    pub done: Vec<usize>,
    /// For each event the node from which on it is ordered, complete or not.
    pub ordered: Vec<usize>,
    /// Base causality before anything is decided, over nodes; not closed.
    pub graph: Relation,
    /// Program order.
    pub order: Relation,
    /// Morally strong pairs.
    pub strong: Relation,
    /// Pairs of atomic operations that must not interleave without being morally strong.
    pub exclusive: Relation,
    /// Program order between overlapping operations.
    pub order_at: Relation,
    /// Pairs for which base causality is proxy-preserved as it is.
    pub preserved: Relation,
    /// Pairs for which it takes proxy fences on the path.
    pub detours: Vec<causality::Detour>,
    /// Fences that order less than everything.
    pub limited: Vec<usize>,
    /// Pairs of operations that limited fences order, by the fences.
    pub classes: Vec<limited::Class>,
    /// Pairs of tcgen05 operations that need order only, not completion.
    pub pipelined: Relation,
    /// Writes that meet in physical memory.
    pub meeting: Relation,
    /// Positions of memory operations, of reads, of writes.
    pub memory: Vec<usize>,
    /// Reads.
    pub reads: Vec<usize>,
    /// Writes.
    pub writes: Vec<usize>,
    /// Release patterns: first instruction and write, by write.
    pub releases: Vec<Vec<usize>>,
    /// Acquire patterns: read and last instruction, by read.
    pub acquires: Vec<Vec<usize>>,
    /// What tcgen05's fences make of relaxed operations: nodes of before_thread_sync fences and of
    /// commits, by write.
    pub tensor_releases: Vec<Vec<usize>>,
    /// Nodes of after_thread_sync fences, by read.
    pub tensor_acquires: Vec<Vec<usize>>,
    /// Asynchronous strong reads with the write that tells that they are complete.
    pub awaited: Vec<(usize, usize)>,
    /// What each read (in the order of `reads`) can have read from.
    pub sources: Vec<reads::Choice>,
    /// Pairs of writes to be related in coherence order.
    pub write_pairs: Vec<(usize, usize)>,
    /// Pairs of operations that race unless causality orders them.
    pub conflicts: Vec<Race>,
    /// Pairs of fence.sc to be related in the Fence-SC order.
    pub fence_pairs: Vec<(usize, usize)>,
}

impl<'a> Candidate<'a> {
    /// Puts the ways together. `None` if some read has nothing to read from, or a barrier blocks.
    pub fn new(
        program: &'a Program,
        contents: &'a Program,
        options: &'a Options,
        ways: Vec<&'a Local>,
    ) -> Option<Self> {
        let mut events = vec![];
        let mut starts = vec![];
        for way in &ways {
            let start = events.len();
            starts.push(start);
            events.extend(way.events.iter().cloned());
            for event in &mut events[start..] {
                let Some(access) = event.access_mut() else { continue };
                if let Some(partner) = &mut access.partner {
                    *partner += start;
                }
                if let Object::Complete(first) = &mut access.object {
                    *first += start;
                }
            }
        }
        let count = events.len();
        let memory: Vec<usize> = (0..count).filter(|e| events[*e].access().is_some()).collect();
        let reads: Vec<usize> = (0..count).filter(|e| events[*e].is_read()).collect();
        let writes: Vec<usize> = (0..count).filter(|e| events[*e].is_write()).collect();
        let sources = reads::choices(program, &events, &reads, &writes)?;

        let mut nodes = count;
        let mut done: Vec<usize> = (0..count).collect();
        let mut ordered = done.clone();
        for (index, event) in events.iter().enumerate() {
            let outside = options.clauses.has(Clause::AsyncOutsideProgramOrder);
            if event.asynchronous && outside {
                done[index] = nodes;
                ordered[index] = nodes + 1;
                nodes += 2;
            } else if matches!(event.kind, Kind::Before | Kind::After) {
                ordered[index] = nodes;
                nodes += 1;
            }
        }
        let mut candidate = Candidate {
            options,
            program,
            contents,
            ways,
            nodes,
            done,
            ordered,
            graph: Relation::new(nodes),
            order: Relation::new(count),
            strong: Relation::new(count),
            exclusive: Relation::new(count),
            order_at: Relation::new(count),
            preserved: Relation::new(count),
            detours: vec![],
            limited: limited::find(&events),
            classes: vec![],
            pipelined: Relation::new(count),
            meeting: Relation::new(count),
            memory,
            reads,
            writes,
            releases: vec![vec![]; count],
            acquires: vec![vec![]; count],
            tensor_releases: vec![vec![]; count],
            tensor_acquires: vec![vec![]; count],
            awaited: vec![],
            sources,
            write_pairs: vec![],
            fence_pairs: vec![],
            conflicts: vec![],
            starts,
            events,
        };
        candidate.relate();
        candidate.graph();
        pattern::find(&mut candidate);
        causality::prepare(&mut candidate);
        candidate.conflicts = race::conflicts(&candidate).collect();
        Some(candidate)
    }

    /// Program order, morally strong pairs, and the pairs that the search has to order.
    fn relate(&mut self) {
        let options = self.options;
        let clauses = options.clauses;
        let count = self.events.len();
        for a in 0..count {
            for b in 0..count {
                if a == b {
                    continue;
                }
                let (x, y) = (&self.events[a], &self.events[b]);
                if x.precedes(y) {
                    self.order.add(a, b);
                    if let (Some(p), Some(q)) = (x.access(), y.access())
                        && p.overlaps(q)
                    {
                        self.order_at.add(a, b);
                    }
                }
                if a > b {
                    continue;
                }
                if strong::morally_strong(options, x, y) {
                    self.strong.add(a, b);
                    self.strong.add(b, a);
                }
                if strong::exclusive(options, x, y) {
                    self.exclusive.add(a, b);
                    self.exclusive.add(b, a);
                }
                let related = self.strong.has(a, b);
                let exclusive = self.exclusive.has(a, b);
                if x.is_write() && y.is_write() {
                    let meets = x.access().zip(y.access()).is_some_and(|(p, q)| p.meets(q));
                    if meets {
                        self.meeting.add(a, b);
                        self.meeting.add(b, a);
                    }
                    let strong = related && clauses.has(Clause::CoherenceStrongTotal);
                    if meets && (strong || exclusive || !clauses.has(Clause::CoherencePartial)) {
                        self.write_pairs.push((a, b));
                    }
                }
                let sc = |event: &Event| matches!(&event.kind, Kind::Fence(order, _) if order.semantics == Semantics::Sc);
                if related && sc(x) && sc(y) && clauses.has(Clause::FenceScTotal) {
                    self.fence_pairs.push((a, b));
                }
            }
        }
    }

    /// Base causality that is known from the start.
    fn graph(&mut self) {
        let clauses = self.options.clauses;
        if clauses.has(Clause::BaseProgramOrder) {
            for (a, b) in self.order.pairs() {
                self.graph.add(a, b);
            }
        }
        for index in 0..self.events.len() {
            let event = &self.events[index];
            if !event.asynchronous {
                continue;
            }
            // An asynchronous operation comes after what its issuer did before. tcgen05's accesses to
            // tensor memory do not: only fences order them.
            let tensor = event.access().is_some_and(|access| access.proxy == Proxy::Tensor);
            let by_fences = tensor
                && clauses.has(Clause::Tcgen05After)
                && self.options.choices.tcgen05_fence == Tcgen05Fence::Always;
            if clauses.has(Clause::AsyncAfterIssuer) && !by_fences {
                for earlier in self.starts[event.thread]..self.events.len() {
                    let earlier_event = &self.events[earlier];
                    if earlier_event.thread != event.thread {
                        break;
                    }
                    if !earlier_event.asynchronous && earlier_event.step < event.step {
                        self.graph.add(earlier, index);
                    }
                }
            }
            if !clauses.has(Clause::AsyncOutsideProgramOrder) {
                for later in self.starts[event.thread]..self.events.len() {
                    let later_event = &self.events[later];
                    if later_event.thread != event.thread {
                        break;
                    }
                    if later_event.step > event.step {
                        self.graph.add(index, later);
                    }
                }
            }
        }
        for (thread, way) in self.ways.iter().enumerate() {
            let start = self.starts[thread];
            let node = |moment: Moment| match moment {
                Moment::Start(event) => start + event,
                Moment::Ordered(event) => self.ordered[start + event],
                Moment::Done(event) => self.done[start + event],
            };
            for (from, to) in &way.edges {
                let (from, to) = (node(*from), node(*to));
                if from != to {
                    self.graph.add(from, to);
                }
            }
        }
    }

    /// The thread's register at the end.
    pub fn register(&self, thread: usize, register: usize) -> u128 {
        self.ways[thread].registers[register]
    }
}
