//! What the threads of a warp know.
//!
//! Lanes that know the same form a *strand*; a warp is one strand until some of its lanes
//! synchronise without the others, and again after its next barrier. Patterns are of one thread (8.8): a
//! relaxed read and the fence behind it, a fence and the relaxed store behind it. So what is half of one keeps
//! the lanes that made it, also where all of a strand know the same.
//!
//! | clock | holds what |
//! |---|---|
//! | `c` | is before the strand in causality order |
//! | `s` | is before it in causality order as far as the shared memory of a CTA goes, by fences restricted to that |
//! | `halves` | is before what it does later through the async proxy, by one-way fences |
//! | `p` | of that a proxy fence has covered, for shared memory, for global memory and for tensor maps in it |
//! | `u` | would be in `c` if every scope were wide enough |
//! | `r` | would be in `c` if every relaxed read had acquired |
//! | `x` | is before it in execution, by synchronisation of any strength |
//! | `d` | of asynchronous work it has seen to be complete, by synchronisation of any strength |
//! | `t` | of tcgen05 operations is before it by their fences and synchronisation that releases and acquires |
//! | `f` | of those a fence of the thread that handed them over covers: relaxed synchronisation hands over no more |
//! | `a` | its later tcgen05 operations come after |
//!
//! What a thread did itself is in none of them: it is known by program order.

use super::clock::{Clock, SUBS, Stamp};
use super::halves::Halves;
use super::sides::{ByMemory, EVERY, NONE, Sides};
use crate::ir::Scope;
use std::rc::Rc;

/// Shared and global memory, where a proxy fence may name one of them.
pub(super) const SHARED: usize = 0;
pub(super) const GLOBAL: usize = 1;
/// What a release to the proxy of tensor maps has covered.
pub(super) const MAPS: usize = 2;

/// What a release hands over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Published {
    pub c: Clock,
    pub s: ByMemory,
    pub halves: Option<Rc<Halves>>,
    pub p: [Clock; 3],
    pub u: Clock,
    pub r: Clock,
    pub x: Clock,
    pub t: Clock,
    pub f: Clock,
    pub d: Clock,
    /// In which CTAs proxy fences have covered what.
    pub sides: Sides,
    /// The last relaxed read, for the report.
    pub read: Option<(Almost, u32)>,
}

impl Published {
    pub fn join(&mut self, other: &Published) {
        self.c.join(&other.c);
        self.s.join(&other.s);
        self.join_halves(&other.halves);
        self.p[0].join(&other.p[0]);
        self.p[1].join(&other.p[1]);
        self.p[MAPS].join(&other.p[MAPS]);
        self.sides.join(&other.sides);
        self.u.join(&other.u);
        self.r.join(&other.r);
        self.t.join(&other.t);
        self.read = self.read.or(other.read);
        self.join_order(other);
    }

    /// A relaxed read at `site` saw what was published.
    pub fn saw(&mut self, other: &Published, kind: Almost, site: u32) {
        self.r.join(&other.c);
        self.r.join(&other.r);
        self.read = Some((kind, site));
    }

    /// Takes over what concerns shared memory only.
    pub fn join_shared(&mut self, other: &Published) {
        self.s.cover(EVERY, &other.c);
        self.s.join(&other.s);
        self.join_halves(&other.halves);
        self.p[SHARED].join(&other.p[SHARED]);
        self.sides.join(&other.sides);
        self.join_order(other);
    }

    /// Takes over what concerns the shared memory of one CTA.
    pub fn join_memory(&mut self, memory: u32, other: &Published) {
        self.s.cover(memory, &other.c);
        self.s.join_of(memory, &other.s);
        if let Some(halves) = &other.halves {
            self.halves().join_of(memory, halves);
        }
        self.p[SHARED].join(&other.p[SHARED]);
        self.sides.join_of(memory, &other.sides);
        self.join_order(other);
    }

    /// What one-way fences have covered, too.
    pub fn join_halves(&mut self, other: &Option<Rc<Halves>>) {
        match (&mut self.halves, other) {
            (_, None) => {}
            (Some(mine), Some(other)) if Rc::ptr_eq(mine, other) => {}
            (Some(mine), Some(other)) => Rc::make_mut(mine).join(other),
            (mine, Some(other)) => *mine = Some(Rc::clone(other)),
        }
    }

    /// What is known of one-way fences, to be added to.
    pub fn halves(&mut self) -> &mut Halves {
        Rc::make_mut(self.halves.get_or_insert_default())
    }

    /// Whether causality orders an access to a memory before what comes now: to a CTA's shared memory, by its number.
    #[inline]
    pub fn knows(&self, stamp: Stamp, memory: Option<u32>) -> bool {
        self.c.covers(stamp)
            || memory.is_some_and(|memory| !self.s.is_empty() && self.s.covers(memory, stamp))
    }

    /// Takes over execution order and completion only.
    pub fn join_order(&mut self, other: &Published) {
        self.x.join(&other.x);
        self.f.join(&other.f);
        self.d.join(&other.d);
    }

    /// Completed asynchronous work, as everybody who observes its completion knows it.
    pub fn complete(&mut self, stamp: Stamp) {
        let Published { c, u, x, t, f, d, .. } = self;
        for clock in [c, u, x, t, f, d] {
            clock.raise(stamp);
        }
        self.p[SHARED].raise(stamp);
        self.p[GLOBAL].raise(stamp);
    }
}

/// A synchronisation that did not order everything, for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Almost {
    RelaxedRead,
    VolatileRead,
    RelaxedWait,
    RelaxedCluster,
    NarrowFlag,
    NarrowArrival,
    NarrowWait,
}

/// What relaxed reads saw, until an acquiring fence of the same thread takes it over.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Who read.
    pub lanes: u32,
    pub scope: Scope,
    pub from: super::Home,
    /// Of an object in shared memory.
    pub shared: bool,
    pub what: Rc<Published>,
}

/// What a releasing fence has covered.
#[derive(Clone, Debug)]
pub(super) struct Fenced {
    /// Who executed it.
    pub lanes: u32,
    pub scope: Scope,
    /// Own accesses up to here.
    pub epoch: u32,
    /// Of those a proxy fence before it covers the ones up to here, as in [`Strand::own`].
    pub own: [u32; 3],
    /// And halves of one-way fences those up to there.
    pub halves: OwnHalves,
    pub what: Rc<Published>,
}

/// Of a thread's own accesses, those that its halves of one-way fences have covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnHalves {
    /// The memory of its CTA, and its own accesses to that up to an epoch.
    pub memory: u32,
    pub released: u32,
    /// Its own reads up to an epoch.
    pub reads: u32,
}

impl OwnHalves {
    /// Whether an own access, perhaps a `read`, is among them.
    pub fn covers(self, stamp: Stamp, read: bool) -> bool {
        stamp.epoch <= self.released || read && stamp.epoch <= self.reads
    }

    pub fn any(self) -> bool {
        self.released > 0 || self.reads > 0
    }

    fn min(self, other: OwnHalves) -> OwnHalves {
        OwnHalves {
            memory: self.memory.max(other.memory),
            released: self.released.min(other.released),
            reads: self.reads.min(other.reads),
        }
    }
}

/// What release halves of one-way fences allow relaxed stores of the same threads to publish.
#[derive(Clone, Debug)]
pub(super) struct Half {
    /// Who executed them.
    lanes: u32,
    own: OwnHalves,
    what: Halves,
}

impl Fenced {
    /// What a thread publishes behind it.
    pub fn of(&self, thread: u32) -> Published {
        let mut what = (*self.what).clone();
        let own = Stamp { id: thread, epoch: self.epoch };
        what.c.raise(own);
        what.u.raise(own);
        for (clock, epoch) in what.p.iter_mut().zip(self.own) {
            clock.raise(Stamp { id: thread, epoch });
        }
        if self.halves.any() {
            what.halves()
                .raise(self.halves, |clock, epoch| clock.raise(Stamp { id: thread, epoch }));
        }
        what
    }
}

/// Lanes of a warp that know the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Strand {
    pub lanes: u32,
    pub now: Published,
    pub a: Clock,
    /// Of its own accesses a proxy fence covers those up to this epoch.
    pub own: [u32; 3],
    /// And halves of one-way fences those up to there.
    pub own_halves: OwnHalves,
    /// What its later uses of tensor maps come after.
    pub maps: Clock,
    pub pending: Vec<Pending>,
    /// What reductions saw: they take part in no acquire pattern.
    pub reduced: Clock,
    /// What the last releasing fence of each lane allows its relaxed stores to publish.
    pub fenced: Vec<Fenced>,
    /// The same for the last fence that is restricted to shared memory.
    pub fenced_shared: Vec<Fenced>,
    /// And for its release halves of one-way fences.
    halves: Vec<Half>,
    /// Initialisations of mbarriers that a lane's fence has covered.
    inits: Vec<(usize, Clock)>,
    /// Its tcgen05 operations.
    pub issued: Clock,
    /// What `fence::before_thread_sync` has covered.
    pub covered: Clock,
    pub almost: Option<(Almost, u32)>,
    /// Counts what it learnt from others.
    pub syncs: u32,
    /// The last wait on each mbarrier: its unit, the phase that it found complete, the site.
    pub waits: Vec<(u32, u64, u32)>,
    /// It waited for bulk groups and had none.
    pub idle_wait: bool,
    /// The last wait that found its phase open: the mbarrier's unit, the site.
    pub refused: Option<(u32, u32)>,
    /// The last strong load, if nobody in this launch had stored what it saw.
    pub before_launch: Option<u32>,
    /// `griddepcontrol.wait` was executed.
    pub previous_awaited: bool,
}

impl Strand {
    /// Whether a proxy fence stands between an ordinary access, perhaps the thread's `own`, and an asynchronous one
    /// that comes now.
    pub fn is_fenced(&self, stamp: Stamp, own: bool, space: usize) -> bool {
        own && stamp.epoch <= self.own[space] || self.now.p[space].covers(stamp)
    }

    /// Takes over all that was published.
    pub fn acquire(&mut self, what: &Published) {
        self.now.join(what);
        self.syncs += 1;
    }

    /// What a releasing fence allows relaxed stores to publish.
    pub fn release(&self) -> Rc<Published> {
        Rc::new(Published { f: self.covered.clone(), ..self.now.clone() })
    }

    /// A releasing fence by all lanes, which allows `what` to be published.
    pub fn fence(&self, scope: Scope, epoch: u32, what: Rc<Published>) -> Fenced {
        let (lanes, own, halves) = (self.lanes, self.own, self.own_halves);
        Fenced { lanes, scope, epoch, own, halves, what }
    }

    /// `fence::before_thread_sync`: it covers what the threads have issued, and what they took over by
    /// `fence::after_thread_sync`.
    pub fn cover(&mut self) {
        self.covered = self.issued.clone();
        self.covered.join(&self.a);
    }

    /// Release halves of one-way fences, executed by all lanes: of their own reads only, or of accesses to a memory.
    pub fn release_half(&mut self, memory: u32, epoch: u32, reads: bool) {
        let what = Halves::release(memory, &self.now, reads);
        self.now.halves().join(&what);
        let add = |own: &mut OwnHalves| {
            own.memory = memory;
            *(if reads { &mut own.reads } else { &mut own.released }) = epoch;
        };
        add(&mut self.own_halves);
        let mut new = self.lanes;
        for half in &mut self.halves {
            new &= !half.lanes;
            half.what.join(&what);
            add(&mut half.own);
        }
        if new != 0 {
            let mut own = OwnHalves::default();
            add(&mut own);
            self.halves.push(Half { lanes: new, own, what });
        }
    }

    /// A relaxed read by all lanes saw what was published; a later fence of theirs may acquire it.
    pub fn see(&mut self, (scope, from): (Scope, super::Home), shared: bool, what: &Rc<Published>) {
        self.see_by(self.lanes, (scope, from), shared, what);
    }

    /// Lanes of the strand did. For each scope and place each lane is in one entry.
    fn see_by(
        &mut self,
        lanes: u32,
        (scope, from): (Scope, super::Home),
        shared: bool,
        what: &Rc<Published>,
    ) {
        let mut new = lanes;
        let mut parted = Vec::new();
        let same = |p: &&mut Pending| (p.scope, p.from, p.shared) == (scope, from, shared);
        for pending in self.pending.iter_mut().filter(same) {
            if Rc::ptr_eq(&pending.what, what) {
                pending.lanes |= new;
                new = 0;
            }
            let these = pending.lanes & new;
            if these == 0 {
                continue;
            }
            if these != pending.lanes {
                parted.push(Pending { lanes: pending.lanes & !these, ..pending.clone() });
                pending.lanes = these;
            }
            Rc::make_mut(&mut pending.what).join(what);
            new &= !these;
        }
        self.pending.append(&mut parted);
        if new != 0 {
            self.pending.push(Pending { lanes: new, scope, from, shared, what: Rc::clone(what) });
        }
    }

    /// A lane's fence for initialisations of mbarriers has covered one.
    pub fn init(&mut self, lane: usize, stamp: Stamp) {
        match self.inits.iter_mut().find(|inits| inits.0 == lane) {
            Some(inits) => inits.1.raise(stamp),
            None => {
                let mut inits = Clock::default();
                inits.raise(stamp);
                self.inits.push((lane, inits));
            }
        }
    }

    /// Initialisations that a lane's fence has covered.
    pub fn inits(&self, lane: usize) -> Option<&Clock> {
        self.inits.iter().find(|inits| inits.0 == lane).map(|inits| &inits.1)
    }

    /// What a relaxed store or arrival of a lane, which is that thread, publishes at a scope, and the scope at which it
    /// does: execution order, and what its own fences before it cover. Fences that are restricted to the shared memory
    /// of a CTA synchronise through an object in shared memory; only then it is named.
    pub fn relaxed(
        &self,
        all: Published,
        (lane, thread): (usize, u32),
        scope: Scope,
        memory: Option<u32>,
    ) -> (Published, Scope) {
        let mut what = Published { x: all.x, f: all.f, d: all.d, ..Published::default() };
        let mut reach = scope;
        let of = |fences: &'_ [Fenced]| fences.iter().position(|f| f.lanes >> lane & 1 == 1);
        let fenced = of(&self.fenced).map(|at| &self.fenced[at]);
        let shared = of(&self.fenced_shared).map(|at| &self.fenced_shared[at]);
        // One scope goes with what is published: a later, wider fence for shared memory goes before a narrow one.
        let newer = |fenced: &&Fenced| match shared {
            Some(shared) if fenced.scope < scope => {
                shared.epoch < fenced.epoch || shared.scope <= fenced.scope
            }
            _ => true,
        };
        if let Some(fenced) = fenced.filter(newer) {
            what.join(&fenced.of(thread));
            reach = reach.min(fenced.scope);
        }
        match (shared, memory) {
            (Some(fenced), Some(memory)) => what.join_memory(memory, &fenced.of(thread)),
            (Some(fenced), None) => what.s.cover(NONE, &fenced.of(thread).c),
            (None, _) => {}
        }
        let half = self.halves.iter().find(|half| half.lanes >> lane & 1 == 1);
        if let (Some(half), true) = (half, memory.is_some()) {
            let halves = what.halves();
            halves.join(&half.what);
            halves.raise(half.own, |clock, epoch| clock.raise(Stamp { id: thread, epoch }));
        }
        if let Some(inits) = self.inits(lane) {
            what.c.join(inits);
            what.u.join(inits);
        }
        (what, reach)
    }

    /// What is left of a strand that keeps these lanes only.
    fn keep(&mut self, lanes: u32) {
        self.lanes = lanes;
        for pending in &mut self.pending {
            pending.lanes &= lanes;
        }
        self.pending.retain(|pending| pending.lanes != 0);
        for fences in [&mut self.fenced, &mut self.fenced_shared] {
            fences.iter_mut().for_each(|fence| fence.lanes &= lanes);
            fences.retain(|fence| fence.lanes != 0);
        }
        self.halves.iter_mut().for_each(|half| half.lanes &= lanes);
        self.halves.retain(|half| half.lanes != 0);
        self.inits.retain(|inits| lanes >> inits.0 & 1 == 1);
    }

    /// Knows as much as `other`, too; the own counters fall back to what both have.
    fn merge(&mut self, other: &Strand) {
        self.now.join(&other.now);
        self.a.join(&other.a);
        self.reduced.join(&other.reduced);
        self.issued.join(&other.issued);
        self.covered.join(&other.covered);
        for Pending { lanes, scope, from, shared, what } in &other.pending {
            self.see_by(*lanes, (*scope, *from), *shared, what);
        }
        self.own = std::array::from_fn(|i| self.own[i].min(other.own[i]));
        self.own_halves = self.own_halves.min(other.own_halves);
        self.almost = self.almost.or(other.almost);
        self.fenced.extend_from_slice(&other.fenced);
        self.fenced_shared.extend_from_slice(&other.fenced_shared);
        self.halves.extend_from_slice(&other.halves);
        self.inits.extend_from_slice(&other.inits);
        self.maps.join(&other.maps);
        self.refused = self.refused.or(other.refused);
        self.before_launch = self.before_launch.or(other.before_launch);
        // One thread's wait is not the others'.
        self.previous_awaited &= other.previous_awaited;
        self.syncs += 1;
        self.lanes |= other.lanes;
    }
}

/// A warp.
#[derive(Clone, Debug, Default)]
pub(super) struct WarpClocks {
    pub unit: u32,
    pub cta: u32,
    /// Stamps its accesses; counts up at whatever hands accesses over.
    pub epoch: u32,
    pub strands: Vec<Strand>,
}

impl WarpClocks {
    pub fn new(unit: u32, cta: u32, lanes: u32) -> WarpClocks {
        let strand = Strand { lanes, ..Strand::default() };
        WarpClocks { unit, cta, epoch: 1, strands: vec![strand] }
    }

    pub fn lane(&self, lane: usize) -> u32 {
        self.unit * SUBS + 1 + lane as u32
    }

    /// Runs `change` on the strands of these lanes, which part from the others.
    pub fn split(&mut self, lanes: u32, mut change: impl FnMut(&mut Strand)) {
        let mut parted = Vec::new();
        for strand in &mut self.strands {
            let these = strand.lanes & lanes;
            if these == 0 {
                continue;
            }
            if these != strand.lanes {
                let mut rest = strand.clone();
                rest.keep(strand.lanes & !these);
                parted.push(rest);
                strand.keep(these);
            }
            change(strand);
        }
        self.strands.extend(parted);
    }

    /// Parts lanes whose relaxed reads were not made together: a fence acquires what its own thread has read.
    pub fn part_by_reads(&mut self, lanes: u32) {
        let strands = self.strands.iter().filter(|strand| strand.lanes & lanes != 0);
        let reads: Vec<u32> = strands
            .flat_map(|s| s.pending.iter().map(|p| p.lanes).filter(|reads| *reads != s.lanes))
            .collect();
        for reads in reads {
            self.split(reads & lanes, |_| {});
        }
    }

    /// The strand of a lane.
    pub fn of(&self, lane: usize) -> &Strand {
        let found = self.strands.iter().find(|s| s.lanes >> lane & 1 == 1);
        found.unwrap_or(&self.strands[0])
    }

    /// Raises `clock` to the own accesses of these lanes up to `epoch`.
    fn raise_own(&self, clock: &mut Clock, lanes: u32, whole: bool, epoch: u32) {
        if whole {
            clock.raise(Stamp { id: self.unit * SUBS, epoch });
            clock.compact(self.unit);
        } else {
            for lane in crate::world::lanes_of(lanes) {
                clock.raise(Stamp { id: self.lane(lane), epoch });
            }
        }
    }

    /// What these lanes publish together; their later accesses are not part of it.
    pub fn publish(&mut self, lanes: u32, live: u32) -> Published {
        let mut all = Published::default();
        let whole = lanes & live == live;
        let mut own = [u32::MAX; 3];
        let mut covered = Clock::default();
        for strand in self.strands.iter().filter(|s| s.lanes & lanes != 0) {
            all.join(&strand.now);
            covered.join(&strand.covered);
            for (least, own) in own.iter_mut().zip(strand.own) {
                *least = own.min(*least);
            }
            if !whole {
                for i in [SHARED, GLOBAL, MAPS] {
                    self.raise_own(&mut all.p[i], strand.lanes & lanes, false, strand.own[i]);
                }
            }
        }
        all.f = covered;
        for strand in self.strands.iter().filter(|s| s.lanes & lanes != 0 && s.own_halves.any()) {
            let these = strand.lanes & lanes;
            let raise =
                |clock: &mut Clock, epoch| self.raise_own(clock, these, these == live, epoch);
            all.halves().raise(strand.own_halves, raise);
        }
        let epoch = self.epoch;
        for clock in [&mut all.c, &mut all.u, &mut all.x] {
            self.raise_own(clock, lanes, whole, epoch);
        }
        if whole {
            for i in [SHARED, GLOBAL, MAPS] {
                self.raise_own(&mut all.p[i], lanes, true, own[i]);
                // Some lanes fenced alone.
                for strand in self.strands.iter().filter(|s| s.lanes & lanes != 0) {
                    if strand.own[i] > own[i] {
                        let these = strand.lanes & lanes;
                        self.raise_own(&mut all.p[i], these, false, strand.own[i]);
                    }
                }
            }
        }
        self.epoch += 1;
        all
    }

    /// A barrier among these lanes: afterwards they know the same.
    pub fn together(&mut self, lanes: u32, live: u32) {
        let all = self.publish(lanes, live);
        let mut merged: Option<Strand> = None;
        self.split(lanes, |_| {});
        self.strands.retain(|strand| {
            if strand.lanes & lanes == 0 {
                return true;
            }
            match &mut merged {
                Some(merged) => merged.merge(strand),
                None => merged = Some(strand.clone()),
            }
            false
        });
        if let Some(mut strand) = merged {
            strand.acquire(&all);
            self.strands.push(strand);
        }
        if self.strands.is_empty() {
            self.strands.push(Strand::default());
        }
    }
}
