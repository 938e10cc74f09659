//! How knowledge moves: one function for each line of the table.
//!
//! | operation | effect |
//! |---|---|
//! | release store or atomic, or a strong one behind a releasing fence | publishes `c`, `p` for that location and scope |
//! | relaxed store or arrival | publishes execution order; causality as of the last releasing fence; tcgen05 operations as of the last `before_thread_sync` |
//! | acquire load or wait | takes over what was published if each scope includes the other side |
//! | relaxed read | takes over execution order; the rest at a later acquiring fence |
//! | atomic | continues the sequence of what was published before it |
//! | `fence.….sync_restrict::shared` | the same for shared memory only, a release for that of the own CTA; through objects in shared memory |
//! | `fence.mbarrier_init` | publishes initialisations of mbarriers, nothing else |
//! | `fence.sc` | both directions, with all `fence.sc` of the scope instance |
//! | `bar`, cluster barrier | joins the participants |
//! | `shfl`, `vote`, `elect` | nothing |
//! | completion on an mbarrier | the copy, nothing else, joins the phase, as the issuer's arrival would; so does a commit |
//! | bulk `wait_group` | joins the thread's own copies; `.read` their reads only |
//! | `fence.proxy.async` | what is in `c` is in `p`, by a fence of this CTA; of the memory that it reaches |
//! | its one-way halves | see [`halves`](super::halves) |
//! | `fence.proxy.tensormap::generic` | a release covers what is in `c`; an acquire lets uses of maps follow what was covered |
//! | `tcgen05.commit` | the thread's multiplications so far join the phase |
//! | `tcgen05.wait::ld`, `wait::st` | completes the warp's own loads, or stores |
//! | `fence::before_thread_sync` | earlier tcgen05 operations are handed over, by relaxed synchronisation, too |
//! | `fence::after_thread_sync` | later tcgen05 operations come after what was handed over so far |

use super::clock::{Clock, SUBS, Stamp};
use super::hazard::BarrierUser;
use super::shadow::Cell;
use super::sides::{EVERY, NONE};
use super::strand::{Almost, GLOBAL, MAPS, Published, SHARED};
use super::{Batch, CtaClocks, Detector, Home, Space, Unit};
use crate::async_ops::SharedPlace;
use crate::ir::{LANES, Scope};
use crate::rng::Rng;
use crate::world::lanes_of;
use std::borrow::Cow;
use std::rc::Rc;

/// Bytes of a strong access at most.
const WIDEST: u64 = 16;

/// Memory order of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
}

impl Order {
    fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel)
    }

    fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel)
    }
}

/// What a fence instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceOp {
    Thread {
        acquire: bool,
        release: bool,
        sequential: bool,
        /// It orders accesses to shared memory only.
        shared: bool,
        scope: Scope,
    },
    Proxy {
        shared: Option<Reach>,
        global: bool,
    },
    /// The release half of a one-way fence from the generic to the async proxy; of the thread's own reads only.
    Release {
        reads: bool,
    },
    /// Its acquire half.
    Acquire,
    MbarrierInit,
    /// Edits of tensor maps are released to their users.
    MapRelease,
    /// They are acquired by the users.
    MapAcquire,
    /// Of proxies that the emulator does not tell apart.
    Other,
}

/// Which shared memory a proxy fence reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The own CTA's.
    Cta,
    /// That of the cluster.
    Cluster,
}

/// What one CTA's threads published at a location, for one scope.
#[derive(Clone, Debug)]
pub(super) struct Item {
    scope: Scope,
    from: Home,
    /// The thread that stored last.
    thread: u32,
    what: Rc<Published>,
}

/// An mbarrier.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    /// The unit whose epochs are the phases in which copies of its own CTA complete. Copies of each other CTA, by its slot,
    /// have one of their own: a wait has to reach their threads.
    pub unit: u32,
    others: Vec<(u32, u32)>,
    /// Its initialisation, and whether the fence for other proxies came.
    pub init: Option<Init>,
    pub fenced: bool,
    /// Arrivals of the current phase and of the one before.
    current: Phase,
    before: Phase,
    /// The last arrival of each thread: phase, and what it had learnt.
    arrivals: Vec<(u32, u64, u32)>,
}

/// The initialisation of an mbarrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Init {
    /// The thread's access.
    by: Stamp,
    /// The initialisation alone, which is what its fence publishes.
    alone: Stamp,
    site: u32,
}

/// A strong load that returned an overwritten value to a thread which had heard of the newer store.
#[derive(Clone, Copy, Debug)]
pub(super) struct StaleRead {
    pub w: u32,
    pub lane: u32,
    pub site: u32,
    pub space: Space,
    pub at: u64,
    pub almost: Option<u32>,
}

/// What the threads that come to a cluster barrier hand over.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    all: Published,
    /// To those of their own CTA, by fences of that scope.
    near: Vec<(u32, Published)>,
}

#[derive(Clone, Debug, Default)]
struct Phase {
    all: Published,
    /// Of other CTAs' threads and their copies: known to those whose scope reaches them.
    remote: Published,
    /// A remote arrival that its scope does not carry.
    narrow: bool,
}

impl Detector {
    // ---- stores, loads, atomics ----

    /// A strong store: releases, or publishes what a releasing fence before it allows. The `epoch` is that of the
    /// instruction, of which lanes before this one may have handed over already.
    pub fn strong_store(
        &mut self,
        w: u32,
        lane: usize,
        (space, at): (Space, u64),
        (order, scope): (Order, Scope),
        replaces: bool,
        (epoch, values): (u32, (Option<u64>, Option<u64>)),
    ) {
        let live = self.live(w);
        let home = self.home(w);
        let warp = &mut self.warps[w as usize];
        let stamp = Stamp { id: warp.lane(lane), epoch };
        let mut what = warp.publish(1 << lane, live);
        let mut scope = scope;
        if !order.releases() {
            let memory = (space != Space::Global).then_some(home.cta);
            (what, scope) = warp.of(lane).relaxed(what, (lane, warp.lane(lane)), scope, memory);
        }
        let location = self.flags.entry((flag_space(space), at)).or_default();
        // A new value ends the release sequences of others.
        let thread = warp.lane(lane);
        let keep = |item: &Item| !replaces || item.thread == thread;
        let items = location.store(values, (stamp, !replaces), keep);
        let same = |i: &&mut Item| i.scope == scope && i.from == home;
        match items.iter_mut().find(same) {
            Some(item) => {
                item.thread = thread;
                Rc::make_mut(&mut item.what).join(&what);
            }
            None => items.push(Item { scope, from: home, thread, what: Rc::new(what) }),
        }
    }

    /// An atomic reads the newest value: what its lanes had read of that place before it was a guess.
    pub fn newest(&mut self, w: u32, lanes: u32, (space, at): (Space, u64)) {
        self.stale_reads.retain(|read| {
            (read.w, read.space, read.at) != (w, space, at) || lanes >> read.lane & 1 == 0
        });
    }

    /// A strong load, or the reading half of an atomic.
    pub fn strong_load(
        &mut self,
        w: u32,
        lanes: u32,
        (space, at): (Space, u64),
        (order, scope): (Order, Scope),
        site: u32,
    ) {
        let home = self.home(w);
        let version = self.chosen.iter().find(|chosen| chosen.0 == at).map(|chosen| chosen.1);
        let Some(location) = self.flags.get_mut(&(flag_space(space), at)) else {
            self.warps[w as usize].split(lanes, |strand| strand.before_launch = Some(site));
            return;
        };
        // Whoever looks again was not misled by what it saw before.
        if !self.stale_reads.is_empty() {
            self.stale_reads
                .retain(|read| (read.w, read.site) != (w, site) || lanes >> read.lane & 1 == 0);
        }
        let warp = &mut self.warps[w as usize];
        if let Some(version) = version {
            // It has heard of a newer store, but nothing orders that before the read.
            let lane = lanes.trailing_zeros();
            let strand = warp.of(lane as usize);
            let heard = |stamp| strand.now.x.covers(stamp) && !strand.now.c.covers(stamp);
            if location.newer(version).any(heard) {
                let almost = strand.almost.map(|almost| almost.1);
                self.stale_reads.push(StaleRead { w, lane, site, space, at, almost });
            }
        }
        for lane in lanes_of(lanes) {
            location.read(Stamp { id: warp.lane(lane), epoch: warp.epoch }, version);
        }
        warp.split(lanes, |strand| {
            strand.before_launch = None;
            for item in location.items(version) {
                let wide = item.from.includes(item.scope, home) && home.includes(scope, item.from);
                if !wide {
                    strand.now.u.join(&item.what.c);
                }
                strand.now.join_order(&item.what);
                strand.syncs += 1;
                match (order.acquires(), wide) {
                    (true, true) => strand.now.join(&item.what),
                    (_, false) => strand.almost = Some((Almost::NarrowFlag, site)),
                    (false, true) => {
                        let kind = match order {
                            Order::Volatile => Almost::VolatileRead,
                            _ => Almost::RelaxedRead,
                        };
                        strand.almost = Some((kind, site));
                        strand.now.saw(&item.what, kind, site);
                        strand.see((item.scope, item.from), space != Space::Global, &item.what);
                    }
                }
            }
        });
    }

    /// What a strong load by these lanes finds where memory holds `current`: that, or an older value.
    pub fn look(
        &mut self,
        rng: &mut Rng,
        (w, lanes): (u32, u32),
        (space, at): (Space, u64),
        current: u64,
    ) -> u64 {
        if self.stale == 0 {
            return current;
        }
        let Some(location) = self.flags.get(&(flag_space(space), at)) else { return current };
        // What a weak store has left since is all that there is.
        if location.newest() != self.last_write(space, at) {
            return current;
        }
        let warp = &self.warps[w as usize];
        let lane = lanes.trailing_zeros() as usize;
        let strand = warp.of(lane);
        if strand.lanes & lanes != lanes {
            return current;
        }
        let stale = self.stale;
        let choose = |n| rng.one_in(stale).then(|| rng.below(n));
        let mut known = Cow::Borrowed(&strand.now.c);
        if let Some(memory) = self.memory(space) {
            strand.now.s.of(memory).for_each(|more| known.to_mut().join(more));
        }
        let older = location.older(warp.lane(lane), &known, current, choose);
        let Some((version, value)) = older else { return current };
        self.chosen.push((at, version));
        value
    }

    /// The last write of a word of memory.
    fn last_write(&self, space: Space, at: u64) -> Stamp {
        let cell = at as usize / 4;
        match space {
            Space::Global => self.global.last_write(cell),
            Space::Shared(cta) | Space::Tensor(cta) => self.ctas[cta as usize]
                .shared
                .cells
                .get(cell)
                .map_or(Stamp::default(), Cell::last_write),
        }
    }

    /// Whether a store that nothing else orders was observed, by a lane or by somebody before it, when that read the place:
    /// then it is before what comes now in causality order (8.9.5). What came before the store is not.
    pub(super) fn is_observed(
        &self,
        (w, lane): (u32, usize),
        (space, cell): (Space, u32),
        store: Stamp,
    ) -> bool {
        let warp = &self.warps[w as usize];
        let own = warp.lane(lane);
        let now = &warp.of(lane).now;
        let memory = self.memory(space);
        let known = |read: Stamp| read.id == own || now.knows(read, memory);
        // The store may have begun in a cell before.
        let places = (u64::from(cell) * 4).saturating_sub(WIDEST - 1)..u64::from(cell) * 4 + 4;
        let mut locations = places.filter_map(|at| self.flags.get(&(flag_space(space), at)));
        locations.any(|location| location.is_observed(store, known))
    }

    /// The next instruction begins.
    pub fn forget_choices(&mut self) {
        self.chosen.clear();
    }

    /// A reduction reads without being able to acquire.
    pub fn reduction(&mut self, w: u32, lanes: u32, (space, at): (Space, u64)) {
        let Some(location) = self.flags.get_mut(&(flag_space(space), at)) else { return };
        let warp = &mut self.warps[w as usize];
        for lane in lanes_of(lanes) {
            location.read(Stamp { id: warp.lane(lane), epoch: warp.epoch }, None);
        }
        warp.split(lanes, |strand| {
            for item in location.items(None) {
                strand.reduced.join(&item.what.c);
                strand.reduced.join(&item.what.x);
            }
        });
    }

    // ---- fences ----

    pub fn fence(&mut self, w: u32, lanes: u32, op: FenceOp) {
        match op {
            FenceOp::Thread { acquire, release, shared: true, scope, .. } => {
                if acquire {
                    self.acquire_shared(w, lanes, scope);
                }
                if release {
                    self.release_shared(w, lanes, scope);
                }
            }
            FenceOp::Thread { acquire, release, sequential, scope, .. } => {
                if acquire {
                    self.acquire_fence(w, lanes, scope);
                }
                if sequential {
                    self.sequential_fence(w, lanes, scope);
                }
                if release {
                    self.release_fence(w, lanes, scope);
                }
            }
            FenceOp::Proxy { shared, global } => self.proxy_fence(w, lanes, shared, global),
            FenceOp::Release { reads } => self.release_half(w, lanes, reads),
            FenceOp::Acquire => self.acquire_half(w, lanes),
            FenceOp::MbarrierInit => self.init_fence(w, lanes),
            FenceOp::MapRelease => self.map_release(w, lanes),
            FenceOp::MapAcquire => self.map_acquire(w, lanes),
            FenceOp::Other => {}
        }
    }

    /// What the lanes' own relaxed reads saw is acquired, as far as the fence's scope reaches.
    fn acquire_fence(&mut self, w: u32, lanes: u32, scope: Scope) {
        let home = self.home(w);
        let warp = &mut self.warps[w as usize];
        warp.part_by_reads(lanes);
        warp.split(lanes, |strand| {
            for pending in std::mem::take(&mut strand.pending) {
                let wide = home.includes(scope, pending.from)
                    && pending.from.includes(pending.scope, home);
                if wide {
                    strand.now.join(&pending.what);
                } else {
                    strand.now.u.join(&pending.what.c);
                    if let Some((kind, _)) = &mut strand.almost {
                        *kind = Almost::NarrowFlag;
                    }
                    strand.pending.push(pending);
                }
            }
        });
    }

    /// Later relaxed stores publish what came before the fence.
    fn release_fence(&mut self, w: u32, lanes: u32, scope: Scope) {
        let warp = &mut self.warps[w as usize];
        let epoch = warp.epoch;
        warp.split(lanes, |strand| {
            let what = strand.release();
            strand.fenced = vec![strand.fence(scope, epoch, what)];
        });
        warp.epoch += 1;
    }

    /// What relaxed reads saw of shared memory is acquired. A fence without that restriction may still acquire the rest.
    fn acquire_shared(&mut self, w: u32, lanes: u32, scope: Scope) {
        let home = self.home(w);
        let warp = &mut self.warps[w as usize];
        warp.part_by_reads(lanes);
        warp.split(lanes, |strand| {
            for pending in &strand.pending {
                let wide = home.includes(scope, pending.from)
                    && pending.from.includes(pending.scope, home);
                match pending.shared {
                    true if wide => strand.now.join_shared(&pending.what),
                    // It synchronises through objects in shared memory only.
                    false if wide => strand.now.s.cover(NONE, &pending.what.c),
                    _ => {}
                }
            }
        });
    }

    /// The release half of a one-way fence: later accesses of the async proxy in whatever CTA acquires it.
    fn release_half(&mut self, w: u32, lanes: u32, reads: bool) {
        let memory = self.home(w).cta;
        let warp = &mut self.warps[w as usize];
        let epoch = warp.epoch;
        warp.split(lanes, |strand| strand.release_half(memory, epoch, reads));
        warp.epoch += 1;
    }

    /// The acquire half: later accesses of the async proxy that this CTA issues come after what relaxed reads saw, and what
    /// is known.
    fn acquire_half(&mut self, w: u32, lanes: u32) {
        let home = self.home(w);
        let warp = &mut self.warps[w as usize];
        let unit = warp.unit * SUBS + 1;
        warp.part_by_reads(lanes);
        warp.split(lanes, |strand| {
            let mut now = strand.now.clone();
            for pending in strand.pending.iter().filter(|pending| pending.shared) {
                if home.includes(Scope::Cluster, pending.from)
                    && pending.from.includes(pending.scope, home)
                {
                    let what = &pending.what;
                    now.join_halves(&what.halves);
                    // Where other fences stood is known by this way, too.
                    strand.now.sides.join(&what.sides);
                    strand.now.p[SHARED].join(&what.p[SHARED]);
                    now.halves().before.cover(EVERY, &what.c);
                    now.halves().before.join(&what.s);
                }
            }
            let mut halves = now.halves().clone();
            let these = strand.lanes;
            halves.acquire(home.cta, &now, strand.own_halves, |clock, epoch| {
                let stamps = lanes_of(these).map(|lane| Stamp { id: unit + lane as u32, epoch });
                stamps.for_each(|stamp| clock.raise(stamp));
            });
            strand.now.halves = Some(Rc::new(halves));
        });
    }

    /// Later relaxed stores publish what came before the fence and concerns shared memory.
    fn release_shared(&mut self, w: u32, lanes: u32, scope: Scope) {
        let warp = &mut self.warps[w as usize];
        let epoch = warp.epoch;
        warp.split(lanes, |strand| {
            let what = strand.release();
            strand.fenced_shared = vec![strand.fence(scope, epoch, what)];
        });
        warp.epoch += 1;
    }

    /// Fences of one scope instance are in one order.
    fn sequential_fence(&mut self, w: u32, lanes: u32, scope: Scope) {
        let home = self.home(w);
        let live = self.live(w);
        let instance = match scope {
            Scope::Cta => home.cta,
            Scope::Cluster => home.cluster,
            Scope::Gpu | Scope::Sys => 0,
        };
        let what = self.warps[w as usize].publish(lanes, live);
        let all = self.sequential.entry((scope, instance)).or_default();
        let before = all.clone();
        all.join(&what);
        self.warps[w as usize].split(lanes, |strand| strand.acquire(&before));
    }

    /// Asynchronous accesses may follow what came before the fence, in the spaces that it names.
    fn proxy_fence(&mut self, w: u32, lanes: u32, shared: Option<Reach>, global: bool) {
        let home = self.home(w);
        let live = self.live(w);
        let is_peer = |cta: &CtaClocks| cta.home.cluster == home.cluster && cta.home != home;
        let has_peers = self.ctas.iter().any(is_peer);
        let Detector { warps, units, .. } = self;
        let warp = &mut warps[w as usize];
        let (epoch, unit) = (warp.epoch, warp.unit * SUBS);
        warp.split(lanes, |strand| {
            let mut known = strand.now.c.clone();
            if shared.is_some() {
                // What else is known of some memory is asked for where it counts.
                strand.now.s.all().for_each(|more| known.join(more));
                let halves = strand.now.halves.iter();
                halves.flat_map(|halves| halves.ordered()).for_each(|more| known.join(more));
            }
            if let (Some(reach), true) = (shared, has_peers) {
                let of_cluster = |id| units[(id / SUBS) as usize].home.cluster == home.cluster;
                let mut covered = known.only(of_cluster);
                if strand.lanes == live {
                    covered.raise(Stamp { id: unit, epoch });
                } else {
                    for lane in lanes_of(strand.lanes) {
                        covered.raise(Stamp { id: unit + 1 + lane as u32, epoch });
                    }
                }
                let memory = if reach == Reach::Cta { home.cta } else { EVERY };
                strand.now.sides.by(home.cta).cover(memory, &covered);
            }
            if shared.is_some() {
                strand.now.p[SHARED].join(&known);
                strand.own[SHARED] = epoch;
            }
            if global {
                let Published { c, p, .. } = &mut strand.now;
                p[GLOBAL].join(c);
                strand.own[GLOBAL] = epoch;
            }
        });
        warp.epoch += 1;
    }

    /// Edits of tensor maps that came before the fence may be acquired.
    fn map_release(&mut self, w: u32, lanes: u32) {
        let warp = &mut self.warps[w as usize];
        let epoch = warp.epoch;
        warp.split(lanes, |strand| {
            let Published { c, p, .. } = &mut strand.now;
            p[MAPS].join(c);
            strand.own[MAPS] = epoch;
        });
        warp.epoch += 1;
    }

    /// What was released to users of tensor maps, as far as the lanes know, is before their later copies.
    fn map_acquire(&mut self, w: u32, lanes: u32) {
        let warp = &mut self.warps[w as usize];
        let unit = warp.unit * SUBS + 1;
        warp.split(lanes, |strand| {
            strand.maps.join(&strand.now.p[MAPS]);
            if strand.own[MAPS] > 0 {
                for lane in lanes_of(strand.lanes) {
                    strand.maps.raise(Stamp { id: unit + lane as u32, epoch: strand.own[MAPS] });
                }
            }
        });
    }

    /// Barriers that these lanes have initialised may be used by other proxies and CTAs. Nothing else is ordered.
    fn init_fence(&mut self, w: u32, lanes: u32) {
        let Detector { warps, ctas, .. } = self;
        let warp = &mut warps[w as usize];
        for barrier in ctas[warp.cta as usize].barriers.values_mut() {
            let Some(Init { by, alone, .. }) = barrier.init else { continue };
            if let Some(lane) = lanes_of(lanes).find(|&lane| warp.lane(lane) == by.id) {
                barrier.fenced = true;
                warp.split(1 << lane, |strand| strand.init(lane, alone));
            }
        }
    }

    // ---- barriers of warps, CTAs and clusters ----

    /// `bar.warp.sync`.
    pub fn warp_barrier(&mut self, w: u32, lanes: u32) {
        let live = self.live(w);
        self.warps[w as usize].together(lanes, live);
    }

    /// Arrival at a CTA barrier.
    pub fn bar_arrive(
        &mut self,
        w: u32,
        lanes: u32,
        (cta, id): (u32, u32),
        (named, site): (bool, u32),
    ) {
        let live = self.live(w);
        if named {
            self.come_to_round(w, lanes, (cta, id), site);
        }
        let what = self.warps[w as usize].publish(lanes, live);
        self.ctas[cta as usize].bars.entry(id).or_default()[0].join(&what);
    }

    /// A warp comes to a round of a barrier for some of the CTA's threads. Unless it was in the round before, or knows
    /// that all who were had come, it may as well have come into that one: then two groups use one barrier.
    fn come_to_round(&mut self, w: u32, lanes: u32, (cta, id): (u32, u32), site: u32) {
        let warp = &self.warps[w as usize];
        let [present, last] = self.ctas[cta as usize].rounds.entry(id).or_default();
        let own = warp.unit * SUBS;
        present.push(Stamp { id: own, epoch: warp.epoch });
        let lane = lanes.trailing_zeros();
        let now = &warp.of(lane as usize).now;
        let was_there = last.is_empty() || last.iter().any(|stamp| stamp.id == own);
        if !was_there && !last.iter().all(|stamp| now.x.covers(*stamp)) {
            self.report_two_groups(w, lane, id, site);
        }
    }

    /// A CTA barrier is complete.
    pub fn bar_complete(&mut self, cta: u32, id: u32) {
        if let Some([present, last]) = self.ctas[cta as usize].rounds.get_mut(&id) {
            *last = std::mem::take(present);
        }
        let [current, before] = self.ctas[cta as usize].bars.entry(id).or_default();
        *before = std::mem::take(current);
    }

    /// Lanes leave a CTA barrier.
    pub fn bar_leave(&mut self, w: u32, lanes: u32, cta: u32, id: u32) {
        let live = self.live(w);
        let Detector { warps, ctas, .. } = self;
        let [_, before] = ctas[cta as usize].bars.entry(id).or_default();
        let warp = &mut warps[w as usize];
        warp.together(lanes, live);
        warp.split(lanes, |strand| strand.acquire(before));
    }

    pub fn cluster_arrive(&mut self, w: u32, lanes: u32, cluster: u32, relaxed: bool) {
        let (live, home) = (self.live(w), self.home(w));
        let warp = &mut self.warps[w as usize];
        let mut what = warp.publish(lanes, live);
        let mut near = Vec::new();
        if relaxed {
            let Published { x, f, d, .. } = what;
            let all = Published { x, f, d, ..Published::default() };
            what = all.clone();
            for strand in warp.strands.iter().filter(|s| s.lanes & lanes != 0) {
                for lane in lanes_of(strand.lanes & lanes) {
                    let who = (lane, warp.lane(lane));
                    // Fences that are restricted to shared memory synchronise through objects there, and this is none.
                    let nothing = Published::default();
                    let (more, reach) = strand.relaxed(nothing, who, Scope::Cluster, None);
                    if reach == Scope::Cluster {
                        what.join(&more);
                        continue;
                    }
                    near.push((home.cta, more));
                    if let Some(inits) = strand.inits(lane) {
                        what.c.join(inits);
                    }
                }
            }
        }
        let [current, _] = self.clusters.entry(cluster).or_default();
        current.all.join(&what);
        current.near.append(&mut near);
    }

    pub fn cluster_complete(&mut self, cluster: u32) {
        let [current, before] = self.clusters.entry(cluster).or_default();
        *before = std::mem::take(current);
    }

    pub fn cluster_leave(&mut self, w: u32, lanes: u32, cluster: u32, site: u32) {
        let home = self.home(w);
        let Detector { warps, clusters, .. } = self;
        let [_, Meeting { all: before, near }] = clusters.entry(cluster).or_default();
        warps[w as usize].split(lanes, |strand| {
            strand.acquire(before);
            for (_, before) in near.iter().filter(|near| near.0 == home.cta) {
                strand.acquire(before);
            }
            if before.x != before.c {
                strand.almost = Some((Almost::RelaxedCluster, site));
            }
        });
    }

    // ---- mbarriers ----

    fn barrier(&mut self, place: SharedPlace) -> &mut Barrier {
        let home = self.ctas[place.cta as usize].home;
        if !self.ctas[place.cta as usize].barriers.contains_key(&place.offset) {
            let unit = self.unit(Unit { home, ..Unit::default() });
            self.units[unit as usize].barrier = Some(unit);
            let barrier = Barrier { unit, ..Barrier::default() };
            self.ctas[place.cta as usize].barriers.insert(place.offset, barrier);
        }
        self.ctas[place.cta as usize].barriers.entry(place.offset).or_default()
    }

    /// The event that copies which complete in a phase of a barrier have in common: those that threads of the CTA in
    /// slot `by` issue.
    pub(super) fn phase_stamp(&mut self, place: SharedPlace, phase: u64, by: u32) -> Stamp {
        let Barrier { unit, ref others, .. } = *self.barrier(place);
        let unit = match others.iter().find(|other| other.0 == by) {
            _ if by == place.cta => unit,
            Some(other) => other.1,
            None => {
                let home = self.ctas[by as usize].home;
                let other = self.unit(Unit { home, barrier: Some(unit), ..Unit::default() });
                self.barrier(place).others.push((by, other));
                other
            }
        };
        Stamp { id: unit * SUBS, epoch: phase as u32 + 1 }
    }

    pub fn barrier_init(&mut self, w: u32, lane: usize, place: SharedPlace, site: u32) {
        let warp = &self.warps[w as usize];
        let stamp = Stamp { id: warp.lane(lane), epoch: warp.epoch };
        let home = self.ctas[place.cta as usize].home;
        let alone = Stamp { id: self.unit(Unit { home, ..Unit::default() }) * SUBS, epoch: 1 };
        self.ctas[place.cta as usize].barriers.remove(&place.offset);
        self.barrier(place).init = Some(Init { by: stamp, alone, site });
    }

    /// A thread uses a barrier: its initialisation must be known to it.
    pub fn check_barrier(&mut self, w: u32, lane: u32, place: SharedPlace, site: u32) {
        let Some(init) = self.barrier(place).init else { return };
        let memory = self.memory(Space::Shared(place.cta));
        let warp = &self.warps[w as usize];
        let own = warp.lane(lane as usize) == init.by.id;
        let now = &warp.of(lane as usize).now;
        if !own && !now.knows(init.by, memory) && !now.c.covers(init.alone) {
            self.report_barrier(w, lane, place, site, init.site, BarrierUser::Thread);
        }
    }

    /// The asynchronous proxy uses it, or may.
    pub(super) fn check_barrier_async(
        &mut self,
        (w, lane): (u32, u32),
        place: SharedPlace,
        site: u32,
        user: BarrierUser,
    ) {
        self.check_barrier(w, lane, place, site);
        let barrier = self.barrier(place);
        if let (Some(init), false) = (barrier.init, barrier.fenced) {
            self.report_barrier(w, lane, place, site, init.site, user);
        }
    }

    /// Threads arrive on a barrier that is in `phase`.
    pub fn arrive(
        &mut self,
        w: u32,
        lane: usize,
        place: SharedPlace,
        (relaxed, asked, phase, site): (bool, Scope, u64, u32),
    ) {
        self.check_barrier(w, lane as u32, place, site);
        let live = self.live(w);
        let home = self.home(w);
        let there = self.ctas[place.cta as usize].home;
        let warp = &mut self.warps[w as usize];
        let (thread, syncs) = (warp.lane(lane), warp.of(lane).syncs);
        let mut what = warp.publish(1 << lane, live);
        let mut scope = asked;
        if relaxed {
            (what, scope) = warp.of(lane).relaxed(what, (lane, thread), scope, Some(home.cta));
        }
        let narrow = !home.includes(scope, there);
        let is_too_narrow = !home.includes(asked, there);
        let barrier = self.barrier(place);
        if narrow {
            let Published { mut c, s, x, f, d, .. } = what;
            s.all().for_each(|more| c.join(more));
            what = Published { u: c, x, f, d, ..Published::default() };
            barrier.current.narrow = true;
        }
        if home.cta == there.cta {
            barrier.current.all.join(&what);
        } else {
            barrier.current.remote.join(&what);
        }
        let again = match barrier.arrivals.iter_mut().find(|a| a.0 == thread) {
            Some(last) => {
                let again = last.1 < phase && last.2 == syncs;
                *last = (thread, phase, syncs);
                again
            }
            None => {
                barrier.arrivals.push((thread, phase, syncs));
                false
            }
        };
        if again {
            self.report_early_arrival(w, lane as u32, place, site);
        }
        if is_too_narrow {
            self.report_narrow_arrival(w, lane as u32, place, site);
        }
    }

    /// A copy completes on a barrier: it alone becomes known, not what its issuer did.
    pub fn complete_tx(&mut self, place: SharedPlace, phase: u64, by: u32) {
        let stamp = self.phase_stamp(place, phase, by);
        let Phase { all, remote, .. } = &mut self.barrier(place).current;
        if by == place.cta { all } else { remote }.complete(stamp);
    }

    /// Every earlier `cp.async` of a thread is complete.
    pub fn complete_small(&mut self, place: SharedPlace, stamp: Stamp) {
        self.barrier(place).current.all.complete(stamp);
    }

    /// `tcgen05.commit` is issued: what its thread has multiplied so far.
    pub fn commit(
        &mut self,
        w: u32,
        lane: usize,
        bars: &[SharedPlace],
        site: u32,
    ) -> Option<Stamp> {
        for &bar in bars {
            self.check_barrier_async((w, lane as u32), bar, site, BarrierUser::Async);
        }
        let stamp = self.end_batch(w, lane as u32, Batch::Mma)?;
        let warp = &mut self.warps[w as usize];
        self.commits.insert((stamp.id, stamp.epoch), warp.of(lane).now.d.clone());
        // It implies the fence before thread synchronisation.
        warp.split(1 << lane, |strand| {
            strand.now.x.raise(stamp);
            strand.now.t.raise(stamp);
            strand.cover();
            strand.covered.raise(stamp);
        });
        Some(stamp)
    }

    /// The small copies that a thread has issued, for its asynchronous arrival.
    pub fn small_so_far(&mut self, w: u32, lane: u32, group: u32) -> Stamp {
        let mut stamp = self.batch(w, lane, Batch::Small);
        stamp.epoch = group + 1;
        stamp
    }

    /// A commit arrives. What was complete before the multiplications is complete after them;
    /// that makes nobody's accesses visible.
    pub fn commit_arrives(&mut self, bars: &[SharedPlace], stamp: Option<Stamp>) {
        let Some(stamp) = stamp else { return };
        let before = self.commits.remove(&(stamp.id, stamp.epoch)).unwrap_or_default();
        for &place in bars {
            // Another CTA's commit is known to waits whose scope reaches it.
            let from = self.units[(stamp.id / SUBS) as usize].home;
            let is_own = self.ctas[place.cta as usize].home == from;
            let Phase { all, remote, .. } = &mut self.barrier(place).current;
            let phase = if is_own { all } else { remote };
            phase.complete(stamp);
            phase.d.join(&before);
        }
    }

    /// A phase is complete.
    pub fn turn(&mut self, place: SharedPlace) {
        let barrier = self.barrier(place);
        barrier.before = std::mem::take(&mut barrier.current);
    }

    /// A wait has found its phase open.
    pub fn refused(&mut self, w: u32, lanes: u32, place: SharedPlace, site: u32) {
        let unit = self.barrier(place).unit;
        let same = |strand: &super::strand::Strand| strand.refused == Some((unit, site));
        let warp = &mut self.warps[w as usize];
        if !warp.strands.iter().all(|strand| strand.lanes & lanes == 0 || same(strand)) {
            warp.split(lanes, |strand| strand.refused = Some((unit, site)));
        }
    }

    /// A wait for a phase has succeeded.
    pub fn waited(
        &mut self,
        w: u32,
        lanes: u32,
        place: SharedPlace,
        (relaxed, scope, phase, site): (bool, Scope, u64, u32),
    ) {
        let from = self.ctas[place.cta as usize].home;
        let barrier = self.barrier(place);
        let unit = barrier.unit;
        let Phase { mut all, remote, narrow } = barrier.before.clone();
        let narrow = narrow.then_some(Almost::NarrowArrival);
        // A wait of scope .cta does not include the other CTAs' threads. It is reported, and what comes after it is
        // judged as behind one that does.
        let is_too_narrow = scope == Scope::Cta && !relaxed && remote != Published::default();
        let mut almost = Almost::RelaxedWait;
        if scope == Scope::Cta && relaxed {
            all.u.join(&remote.c);
            remote.s.all().for_each(|what| all.u.join(what));
            let halves = remote.halves.iter().flat_map(|halves| halves.ordered());
            halves.for_each(|what| all.u.join(what));
            all.u.join(&remote.u);
            // That it is over is seen; what a fence handed over is not.
            all.x.join(&remote.x);
            all.d.join(&remote.d);
            if remote != Published::default() {
                almost = Almost::NarrowWait;
            }
        } else {
            all.join(&remote);
        }
        if is_too_narrow {
            self.report_narrow_wait(w, lanes.trailing_zeros(), place, site);
        }
        let all = Rc::new(all);
        self.warps[w as usize].split(lanes, |strand| {
            strand.now.u.join(&all.u);
            strand.now.join_order(&all);
            strand.syncs += 1;
            strand.waits.retain(|wait| wait.0 != unit);
            strand.waits.push((unit, phase, site));
            strand.refused = strand.refused.filter(|refused| refused.0 != unit);
            if relaxed {
                strand.almost = Some((almost, site));
                strand.now.saw(&all, Almost::RelaxedWait, site);
                strand.see((Scope::Gpu, from), true, &all);
            } else {
                strand.now.join(&all);
                if let Some(narrow) = narrow {
                    strand.almost = Some((narrow, site));
                }
            }
        });
    }

    // ---- groups ----

    /// All but the last `left` of the bulk groups that a thread has committed are complete.
    pub fn bulk_waited(&mut self, w: u32, lane: usize, committed: u32, left: u32, read: bool) {
        let done = committed.saturating_sub(left);
        let batches: &[Batch] =
            if read { &[Batch::OutRead] } else { &[Batch::OutRead, Batch::OutWrite] };
        for &batch in batches {
            let stamp = Stamp { epoch: done, ..self.batch(w, lane as u32, batch) };
            self.warps[w as usize].split(1 << lane, |strand| {
                strand.now.complete(stamp);
                match committed {
                    0 => strand.idle_waits |= 1 << lane,
                    _ => strand.own_waits |= 1 << lane,
                }
            });
        }
    }

    /// The same for `cp.async`.
    pub fn small_waited(&mut self, w: u32, lane: usize, done: u32) {
        let stamp = Stamp { epoch: done, ..self.batch(w, lane as u32, Batch::Small) };
        self.warps[w as usize].split(1 << lane, |strand| strand.now.complete(stamp));
    }

    // ---- tcgen05 ----

    /// The warp's loads, or stores, are complete.
    pub fn tensor_waited(&mut self, w: u32, loads: bool) {
        let batch = if loads { Batch::Ld } else { Batch::St };
        let Some(stamp) = self.end_batch(w, LANES as u32, batch) else { return };
        self.warps[w as usize].split(u32::MAX, |strand| {
            for clock in [&mut strand.now.c, &mut strand.now.u, &mut strand.now.d] {
                clock.raise(stamp);
            }
            strand.a.raise(stamp);
        });
    }

    /// `fence::before_thread_sync`.
    pub fn tensor_before(&mut self, w: u32, lanes: u32) {
        self.warps[w as usize].split(lanes, |strand| {
            let issued: &Clock = &strand.issued;
            strand.now.x.join(issued);
            strand.now.t.join(issued);
            strand.cover();
        });
        for batch in [Batch::Ld, Batch::St] {
            // What is issued from now on is not ordered by this fence.
            self.new_order(w, batch);
        }
    }

    /// Later operations of an open batch get an event of their own.
    fn new_order(&mut self, w: u32, batch: Batch) {
        if let Some(open) = self.batches.get_mut(&(w, LANES as u32, batch)) {
            open.1 += 1;
        }
    }

    /// `fence::after_thread_sync`.
    pub fn tensor_after(&mut self, w: u32, lanes: u32) {
        self.warps[w as usize].split(lanes, |strand| {
            let Published { t, f, .. } = &mut strand.now;
            t.join(f);
            strand.a.join(t);
        });
    }

    // ---- ends ----

    /// Lanes exit.
    pub fn exit(&mut self, w: u32, lanes: u32) {
        if !self.stale_reads.is_empty() {
            let ends = |read: &StaleRead| read.w == w && lanes >> read.lane & 1 == 1;
            let (ended, rest) = std::mem::take(&mut self.stale_reads).into_iter().partition(ends);
            self.stale_reads = rest;
            let ended: Vec<StaleRead> = ended;
            ended.into_iter().for_each(|read| self.report_stale(read));
        }
        let Detector { warps, ctas, .. } = self;
        let Some(warp) = warps.get_mut(w as usize) else { return };
        let cta = warp.cta;
        let mut known = Clock::default();
        for strand in warp.strands.iter().filter(|s| s.lanes & lanes != 0) {
            known.join(&strand.now.c);
            strand.now.s.all().for_each(|more| known.join(more));
            known.join(&strand.now.d);
        }
        ctas[cta as usize].exited.join(&known);
        for strand in &mut warp.strands {
            strand.lanes &= !lanes;
        }
        if warp.strands.iter().any(|s| s.lanes != 0) {
            warp.strands.retain(|s| s.lanes != 0);
        }
    }

    /// A CTA ends: somebody must have seen the copies that touch its shared memory complete.
    pub fn close_cta(&mut self, slot: u32) {
        let cta = &mut self.ctas[slot as usize];
        let copies = std::mem::take(&mut cta.copies);
        let mut open: Vec<(u32, u32, bool)> = copies
            .into_iter()
            .filter(|&(id, (epoch, ..))| !cta.exited.covers(Stamp { id, epoch }))
            .map(|(id, (_, site, writes))| (site, id, writes))
            .collect();
        open.sort_unstable();
        for (site, id, writes) in open {
            self.report_open_copy(id, site, writes);
        }
    }

    // ---- places ----

    pub(super) fn live(&self, w: u32) -> u32 {
        self.warps[w as usize].strands.iter().fold(0, |lanes, s| lanes | s.lanes)
    }

    pub(super) fn home(&self, w: u32) -> Home {
        self.ctas[self.warps[w as usize].cta as usize].home
    }
}

fn flag_space(space: Space) -> u32 {
    match space {
        Space::Global => 0,
        Space::Shared(cta) | Space::Tensor(cta) => cta + 1,
    }
}
