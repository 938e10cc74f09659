//! Finds accesses that nothing orders, whatever order they happened to come in.
//!
//! The algorithm is that of vector clocks (FastTrack; miri's `data_race`), widened from one order
//! to the several that PTX has. [`strand`] holds what threads know, [`clock`] how knowledge is
//! written down, [`shadow`] what was last done to each cell of memory. [`sync`] has one function
//! for each way in which knowledge moves. [`access`] judges the accesses of instructions, and of
//! asynchronous operations what [`operations`] says that they touch; [`hazard`] names what is
//! missing, by asking which weaker order would have been enough.
//!
//! Asynchronous operations are judged when they are issued: whatever is not ordered before their
//! issue, or after the observation of their completion, conflicts with them, no matter when the
//! schedule performs them. So most hazards are found by any schedule that runs the two
//! instructions at all.
//!
//! It misses accesses that it has forgotten (see [`shadow`]) and code that no run reaches. It takes
//! a warp's lanes that leave a barrier together for equally informed. It accuses nobody falsely,
//! as far as the rules that it knows go; where practice and text disagree, [`Severity`] says so.

mod access;
mod clock;
mod halves;
mod hazard;
mod operations;
mod pairs;
mod previous;
mod remote;
mod shadow;
mod sides;
mod strand;
mod sync;
mod versions;
mod viewer;
mod wgmma;

use crate::ir::Scope;
pub(crate) use clock::Stamp;
use clock::{Clock, SUBS};
pub(crate) use hazard::{Found, Missing};
pub use hazard::{Hazard, Severity};
pub(crate) use previous::InFlight;
pub(crate) use shadow::Class;
use shadow::{Cells, Kind, Kinds, Pages};
use std::collections::HashMap;
use strand::{Published, WarpClocks};
pub(crate) use sync::{FenceOp, Order, Reach};
use versions::Location;

/// The tag of tcgen05 operations that follow the others of their thread by themselves: copies,
/// shifts, and the reading of factors.
pub(crate) const IN_ORDER: u16 = 0;

/// Where threads are: which scopes include them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Home {
    /// Numbers that are never used again.
    pub cta: u32,
    pub cluster: u32,
}

impl Home {
    /// Whether a scope of a thread here includes a thread there.
    fn includes(self, scope: Scope, other: Home) -> bool {
        match scope {
            Scope::Cta => self.cta == other.cta,
            Scope::Cluster => self.cluster == other.cluster,
            Scope::Gpu | Scope::Sys => true,
        }
    }
}

/// A warp, or the asynchronous operations of a thread or barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    home: Home,
    block: [u32; 3],
    warp: u32,
    /// The lane of a thread's operations.
    lane: Option<u32>,
    /// Of copies that complete on an mbarrier: the first unit of that.
    barrier: Option<u32>,
}

/// Operations of a thread that one wait completes in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Batch {
    OutRead,
    OutWrite,
    Small,
    Mma,
    Wgmma,
    Ld,
    St,
}

/// Memory that an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    /// The CTA's slot.
    Shared(u32),
    Tensor(u32),
}

/// One instruction's access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub site: u32,
    pub write: bool,
    pub class: Class,
    /// Scope and bytes, if it is strong.
    pub strong: Option<(Scope, u32)>,
    /// Lanes that store what is there already.
    pub equal: u32,
}

impl Touch {
    fn kind(self) -> Kind {
        Kind { strong: self.strong, write: self.write, ..Kind::new(self.site, self.class) }
    }
}

#[derive(Debug, Default)]
struct CtaClocks {
    home: Home,
    shared: Cells,
    tensor: Option<Box<Cells>>,
    barriers: HashMap<u32, sync::Barrier>,
    bars: HashMap<u32, [Published; 2]>,
    /// Who came to the present and to the last round of a named barrier.
    rounds: HashMap<u32, [Vec<Stamp>; 2]>,
    /// What its threads knew when they exited.
    exited: Clock,
    /// Copies that touch its shared memory, the last of each component: when, where in the code, and whether they write.
    copies: HashMap<u32, (u32, u32, bool)>,
    /// Its last allocation for the pair that it is in.
    pair: Option<pairs::Allocated>,
}

/// The state of the detection during a launch.
#[derive(Debug)]
pub(crate) struct Detector {
    strict: bool,
    warps: Vec<WarpClocks>,
    ctas: Vec<CtaClocks>,
    global: Pages,
    kinds: Kinds,
    /// By number.
    units: Vec<Unit>,
    /// The unit of each thread's batches and the batch that is open.
    batches: HashMap<(u32, u32, Batch), (u32, u32)>,
    /// What the issuer of a commit in flight knew to be complete.
    commits: HashMap<(u32, u32), Clock>,
    flags: HashMap<(u32, u64), Location>,
    /// Loads see an older value once in so many times; 0: never.
    stale: usize,
    /// The version that lanes of the running instruction read at an offset.
    chosen: Vec<(u64, u64)>,
    /// Overwritten values that were read, until their threads look again or exit.
    stale_reads: Vec<sync::StaleRead>,
    clusters: HashMap<u32, [sync::Meeting; 2]>,
    sequential: HashMap<(Scope, u32), Published>,
    /// Of the program that runs.
    program: u64,
    /// Earlier launches that may not have ended, each with what a thread that knows of its end has.
    previous: Vec<(Stamp, InFlight)>,
    /// What the threads of a CTA did with `griddepcontrol`, by its number.
    grid_used: HashMap<u32, previous::Used>,
    /// Who issued the copies of an instruction that complete on an mbarrier, by its unit's component and the site: the last.
    issuers: HashMap<(u32, u32), u32>,
    /// What was reported, and where it is in `found`.
    seen: HashMap<(u32, u32, &'static str), usize>,
    found: Vec<Found>,
}

impl Detector {
    /// Whether the disputed points are errors.
    pub fn strict(&self) -> bool {
        self.strict
    }

    pub fn new(strict: bool, stale: usize) -> Detector {
        Detector {
            strict,
            stale,
            chosen: Vec::new(),
            warps: Vec::new(),
            ctas: Vec::new(),
            global: Pages::default(),
            kinds: Kinds::default(),
            units: Vec::new(),
            batches: HashMap::new(),
            commits: HashMap::new(),
            flags: HashMap::new(),
            stale_reads: Vec::new(),
            clusters: HashMap::new(),
            sequential: HashMap::new(),
            program: 0,
            previous: Vec::new(),
            grid_used: HashMap::new(),
            issuers: HashMap::new(),
            seen: HashMap::new(),
            found: Vec::new(),
        }
    }

    pub fn found(&mut self) -> Vec<Found> {
        self.seen.clear();
        std::mem::take(&mut self.found)
    }

    /// Whose shared memory it is, by the number of the CTA.
    fn memory(&self, space: Space) -> Option<u32> {
        match space {
            Space::Shared(cta) => Some(self.ctas[cta as usize].home.cta),
            Space::Global | Space::Tensor(_) => None,
        }
    }

    fn unit(&mut self, unit: Unit) -> u32 {
        self.units.push(unit);
        self.units.len() as u32 - 1
    }

    // ---- CTAs ----

    pub fn start_cluster(&mut self, slot: u32) {
        self.clusters.remove(&slot);
    }

    pub fn start_cta(&mut self, slot: u32, home: Home, shared: usize) {
        if self.ctas.len() <= slot as usize {
            self.ctas.resize_with(slot as usize + 1, CtaClocks::default);
        }
        let shared = Cells::new(shared.div_ceil(4));
        self.flags.retain(|key, _| key.0 != slot + 1);
        self.ctas[slot as usize] = CtaClocks { home, shared, ..CtaClocks::default() };
    }

    pub fn start_warp(&mut self, w: u32, cta: u32, block: [u32; 3], warp: u32, lanes: u32) {
        let home = self.ctas[cta as usize].home;
        let unit = self.unit(Unit { home, block, warp, ..Unit::default() });
        if self.warps.len() <= w as usize {
            self.warps.resize_with(w as usize + 1, WarpClocks::default);
        }
        self.batches.retain(|key, _| key.0 != w);
        self.warps[w as usize] = WarpClocks::new(unit, cta, lanes);
    }

    /// What stamps the accesses of a warp now.
    pub fn epoch(&self, w: u32) -> u32 {
        self.warps[w as usize].epoch
    }

    // ---- batches ----

    /// Stamp of the next operation of a batch.
    fn batch(&mut self, w: u32, lane: u32, batch: Batch) -> Stamp {
        let warp = &self.warps[w as usize];
        let of = Unit { lane: Some(lane), ..self.units[warp.unit as usize] };
        let (id, epoch) = match self.batches.get(&(w, lane, batch)) {
            Some(&known) => known,
            None => {
                let known = (self.unit(of) * SUBS, 1);
                self.batches.insert((w, lane, batch), known);
                known
            }
        };
        Stamp { id, epoch }
    }

    /// The open batch ends: a later wait need not cover what comes now.
    fn end_batch(&mut self, w: u32, lane: u32, batch: Batch) -> Option<Stamp> {
        let open = self.batches.get_mut(&(w, lane, batch))?;
        let stamp = Stamp { id: open.0, epoch: open.1 };
        open.1 += 1;
        Some(stamp)
    }
}
