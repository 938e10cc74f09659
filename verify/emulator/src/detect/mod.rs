//! Finds accesses that nothing orders, whatever order they happened to come in.
//!
//! The algorithm is that of vector clocks (FastTrack; miri's `data_race`), widened from one order
//! to the several that PTX has. [`strand`] holds what threads know, [`clock`] how knowledge is
//! written down, [`shadow`] what was last done to each cell of memory. [`sync`] has one function
//! for each way in which knowledge moves; [`hazard`] names what is missing, by asking which weaker
//! order would have been enough. This module judges accesses.
//!
//! Asynchronous operations are judged when they are issued: whatever is not ordered before their
//! issue, or after the observation of their completion, conflicts with them, no matter when the
//! schedule performs them. So most hazards are found by any schedule that runs the two
//! instructions at all.
//!
//! It misses accesses that it has forgotten (see [`shadow`]) and code that no run reaches. It takes
//! a warp's lanes that leave a barrier together for equally informed. It accuses nobody falsely,
//! as far as the rules that it knows go; where practice and text disagree, [`Severity`] says so.

mod clock;
mod hazard;
mod remote;
mod shadow;
mod strand;
mod sync;
mod versions;
mod viewer;
mod wgmma;

use crate::async_ops::SharedPlace;
use crate::ir::{LANES, Lanes64, Scope};
use crate::tensor_map::TENSOR_MAP_BYTES;
use crate::warp::FULL;
use crate::world::lanes_of;
pub(crate) use clock::Stamp;
use clock::{Clock, SUBS};
pub(crate) use hazard::Found;
pub use hazard::{Hazard, Severity};
use shadow::{Alike, Cells, Conflict, Entry, Kind, Kinds, Pages, cells_of};
pub(crate) use shadow::{Class, Written};
use std::collections::{HashMap, HashSet};
use strand::{GLOBAL, Published, SHARED, WarpClocks};
pub(crate) use sync::{FenceOp, Order};
use versions::Location;
use viewer::{TENSOR, Viewer};

/// The tag of tcgen05 operations that follow the others of their thread by themselves: copies,
/// shifts, and the reading of factors.
pub(crate) const IN_ORDER: u16 = 0;

/// Granules of tensor memory: 16 lanes of a column.
const GRANULE_LANES: u32 = 16;

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
}

impl Touch {
    fn kind(self) -> Kind {
        Kind { strong: self.strong, ..Kind::new(self.site, self.class) }
    }
}

#[derive(Debug, Default)]
struct CtaClocks {
    home: Home,
    shared: Cells,
    tensor: Option<Box<Cells>>,
    barriers: HashMap<u32, sync::Barrier>,
    bars: HashMap<u32, [Published; 2]>,
    /// What its threads knew when they exited.
    exited: Clock,
    /// Copies that touch its shared memory, the last of each component.
    copies: HashMap<u32, (u32, u32)>,
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
    clusters: HashMap<u32, [Published; 2]>,
    sequential: HashMap<(Scope, u32), Published>,
    /// What the launch before wrote, if this one may have begun before that ended.
    previous: Option<Written>,
    seen: HashSet<(u32, u32, &'static str)>,
    found: Vec<Found>,
}

impl Detector {
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
            clusters: HashMap::new(),
            sequential: HashMap::new(),
            previous: None,
            seen: HashSet::new(),
            found: Vec::new(),
        }
    }

    /// The launch may begin before the one that wrote `previous` has ended.
    pub fn follows(self, previous: Option<Written>) -> Detector {
        Detector { previous, ..self }
    }

    /// What the launch has written.
    pub fn into_written(self) -> Written {
        self.global.written()
    }

    /// Memory that the launch before wrote is touched by lanes that have not waited for that launch.
    fn check_previous(&mut self, w: u32, mask: u32, offsets: &Lanes64, bytes: usize, site: u32) {
        let Some(previous) = &self.previous else { return };
        let warp = &self.warps[w as usize];
        let early = warp.strands.iter().filter(|s| !s.previous_awaited);
        let lanes = early.fold(0, |lanes, strand| lanes | strand.lanes) & mask;
        let touches = |&lane: &usize| previous.overlaps(offsets[lane] as usize, bytes);
        if let Some(lane) = lanes_of(lanes).find(touches) {
            self.report_previous(w, lane as u32, offsets[lane], site);
        }
    }

    pub fn found(&mut self) -> Vec<Found> {
        std::mem::take(&mut self.found)
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

    // ---- accesses ----

    /// Makes room where the next access will be entered.
    #[inline]
    fn tidy(&mut self, space: Space) {
        match space {
            Space::Global => self.global.tidy(),
            Space::Shared(cta) | Space::Tensor(cta) => self.ctas[cta as usize].shared.tidy(),
        }
    }

    /// Lanes of a warp access memory at `offsets`, `bytes` bytes each; `repeats` write what one before them does. Of shared memory that is only read, it has to be
    /// written.
    pub fn access(
        &mut self,
        w: u32,
        mask: u32,
        space: Space,
        offsets: &Lanes64,
        bytes: usize,
        (touch, repeats): (Touch, u32),
    ) {
        if space == Space::Global && self.previous.is_some() {
            self.check_previous(w, mask, offsets, bytes, touch.site);
        }
        self.tidy(space);
        let Detector { warps, ctas, global, kinds, units, .. } = self;
        let warp = &warps[w as usize];
        let mut conflicts: Vec<(Conflict, usize)> = Vec::new();
        let mut unwritten = None;
        let whole = kinds.entry(touch.kind());
        let whole = whole.at(Stamp { id: warp.unit * SUBS, epoch: warp.epoch });
        for strand in &warp.strands {
            let lanes = strand.lanes & mask;
            if lanes == 0 {
                continue;
            }
            let who = (warp.unit, 0, ctas[warp.cta as usize].home);
            let kind = if space == Space::Global { GLOBAL } else { SHARED };
            let mut viewer = Viewer::new((strand, units, kinds), who, (kind, touch));
            viewer.merges = lanes == strand.lanes && warp.strands.len() == 1;
            if let (Space::Shared(cta), false) = (space, touch.write) {
                let cells = &mut ctas[cta as usize].shared;
                let access = (offsets, bytes);
                let lane = read_shared(cells, &mut viewer, whole, access, lanes, &mut conflicts);
                unwritten = unwritten.or(lane);
                continue;
            }
            for lane in lanes_of(lanes) {
                viewer.lane = lane as u32;
                let entry = whole.with_id(warp.lane(lane));
                for (cell, mask) in cells_of(offsets[lane] as usize, bytes) {
                    let new = entry.with_bytes(mask);
                    if repeats >> lane & 1 == 1 {
                        match space {
                            Space::Global => global.join(cell, new),
                            Space::Shared(cta) | Space::Tensor(cta) => {
                                let Cells { cells, more, .. } = &mut ctas[cta as usize].shared;
                                cells[cell].join(more, new);
                            }
                        }
                        continue;
                    }
                    let conflict = match space {
                        Space::Global => global.touch(cell, new, touch.write, &mut viewer),
                        Space::Shared(cta) | Space::Tensor(cta) => {
                            let Cells { cells, more, written } = &mut ctas[cta as usize].shared;
                            written[cell] |= mask;
                            cells[cell].touch(cell as u32, Some(more), new, true, &mut viewer)
                        }
                    };
                    if let Some(conflict) = conflict {
                        conflicts.push((conflict, lane));
                    }
                }
            }
        }
        if let Some(lane) = unwritten {
            self.report_unwritten(w, lane as u32, space, offsets[lane], touch.site);
        }
        for (conflict, lane) in conflicts {
            self.report_conflict(w, lane as u32, space, conflict, touch);
        }
    }

    /// Bytes of shared memory that nobody has written are read.
    pub fn check_written(
        &mut self,
        w: u32,
        mask: u32,
        cta: u32,
        offsets: &Lanes64,
        bytes: usize,
        site: u32,
    ) {
        let written = &self.ctas[cta as usize].shared.written;
        let missing = lanes_of(mask).find(|&lane| {
            if bytes == 4 && offsets[lane].is_multiple_of(4) {
                return written[offsets[lane] as usize / 4] != 15;
            }
            let mut cells = cells_of(offsets[lane] as usize, bytes);
            cells.any(|(cell, mask)| written[cell] & mask != mask)
        });
        if let Some(lane) = missing {
            self.report_unwritten(w, lane as u32, Space::Shared(cta), offsets[lane], site);
        }
    }

    /// An asynchronous operation that `lane` issues touches `bytes` bytes.
    fn touch_async(
        &mut self,
        w: u32,
        lane: usize,
        stamp: Stamp,
        space: Space,
        runs: impl IntoIterator<Item = (usize, usize)>,
        touch: Touch,
    ) {
        if space == Space::Global && self.previous.is_some() {
            let runs: Vec<_> = runs.into_iter().collect();
            for &(offset, bytes) in &runs {
                let at = [offset as u64; LANES];
                self.check_previous(w, 1 << lane, &at, bytes, touch.site);
            }
            return self.touch_runs(w, lane, stamp, space, runs, touch);
        }
        self.touch_runs(w, lane, stamp, space, runs, touch);
    }

    fn touch_runs(
        &mut self,
        w: u32,
        lane: usize,
        stamp: Stamp,
        space: Space,
        runs: impl IntoIterator<Item = (usize, usize)>,
        touch: Touch,
    ) {
        self.tidy(space);
        let Detector { warps, ctas, global, kinds, units, .. } = self;
        let warp = &warps[w as usize];
        let entry = kinds.entry(touch.kind()).at(stamp);
        let who = (warp.unit, lane as u32, ctas[warp.cta as usize].home);
        let kind = if space == Space::Global { GLOBAL } else { SHARED };
        let mut viewer = Viewer::new((warp.of(lane), units, kinds), who, (kind, touch));
        let mut first = None;
        let cells = runs.into_iter().flat_map(|(offset, bytes)| cells_of(offset, bytes));
        for (cell, mask) in cells {
            let new = entry.with_bytes(mask);
            let conflict = match space {
                Space::Global => global.touch(cell, new, touch.write, &mut viewer),
                Space::Shared(cta) | Space::Tensor(cta) => {
                    let Cells { cells, more, written } = &mut ctas[cta as usize].shared;
                    if touch.write {
                        written[cell] |= mask;
                    }
                    cells[cell].touch(cell as u32, Some(more), new, touch.write, &mut viewer)
                }
            };
            first = first.or(conflict);
        }
        if let Some(conflict) = first {
            self.report_conflict(w, lane as u32, space, conflict, touch);
        }
    }

    /// A bulk copy into shared memory is issued; it completes on `bar`.
    pub fn copy_in(
        &mut self,
        w: u32,
        lane: usize,
        site: u32,
        to: (SharedPlace, u32),
        bar: SharedPlace,
        phase: u64,
    ) {
        let stamp = self.phase_stamp(bar, phase);
        self.check_barrier_async(w, lane as u32, bar, site);
        let (place, bytes) = to;
        let touch = Touch { site, write: true, class: Class::In, strong: None };
        let space = Space::Shared(place.cta);
        self.touch_async(w, lane, stamp, space, [(place.offset as usize, bytes as usize)], touch);
        self.ctas[place.cta as usize].copies.insert(stamp.id, (stamp.epoch, site));
    }

    /// What a bulk copy into shared memory reads.
    pub fn copy_in_source(
        &mut self,
        w: u32,
        lane: usize,
        site: u32,
        from: (Space, usize, usize),
        (bar, phase): (SharedPlace, u64),
    ) {
        let stamp = self.phase_stamp(bar, phase);
        let touch = Touch { site, write: false, class: Class::In, strong: None };
        self.touch_async(w, lane, stamp, from.0, [(from.1, from.2)], touch);
    }

    /// A copy that completes on `bar` uses a tensor map in global memory.
    pub fn map_in(
        &mut self,
        w: u32,
        lane: usize,
        site: u32,
        at: usize,
        (bar, phase): (SharedPlace, u64),
    ) {
        let stamp = self.phase_stamp(bar, phase);
        self.map(w, lane, site, at, stamp);
    }

    /// A copy of bulk group `group` does.
    pub fn map_out(&mut self, w: u32, lane: usize, site: u32, at: usize, group: u32) {
        let mut stamp = self.batch(w, lane as u32, Batch::OutRead);
        stamp.epoch = group + 1;
        self.map(w, lane, site, at, stamp);
    }

    fn map(&mut self, w: u32, lane: usize, site: u32, at: usize, stamp: Stamp) {
        let touch = Touch { site, write: false, class: Class::Map, strong: None };
        self.touch_async(w, lane, stamp, Space::Global, [(at, TENSOR_MAP_BYTES)], touch);
    }

    /// A bulk copy out of shared memory is issued, into bulk group `group`: its source.
    pub fn copy_out(
        &mut self,
        w: u32,
        lane: usize,
        site: u32,
        from: (SharedPlace, u32),
        group: u32,
    ) {
        let mut stamp = self.batch(w, lane as u32, Batch::OutRead);
        stamp.epoch = group + 1;
        let (place, bytes) = from;
        let touch = Touch { site, write: false, class: Class::Out, strong: None };
        let space = Space::Shared(place.cta);
        self.touch_async(w, lane, stamp, space, [(place.offset as usize, bytes as usize)], touch);
        self.ctas[place.cta as usize].copies.insert(stamp.id, (stamp.epoch, site));
    }

    /// The same: a piece of its destination.
    pub fn copy_out_to(
        &mut self,
        w: u32,
        lane: usize,
        site: u32,
        at: usize,
        bytes: usize,
        group: u32,
    ) {
        let mut stamp = self.batch(w, lane as u32, Batch::OutWrite);
        stamp.epoch = group + 1;
        let touch = Touch { site, write: true, class: Class::Out, strong: None };
        self.touch_async(w, lane, stamp, Space::Global, [(at, bytes)], touch);
    }

    /// A `cp.async` is issued.
    pub fn copy_small(
        &mut self,
        w: u32,
        lane: usize,
        site: u32,
        to: (SharedPlace, u32),
        from: (usize, usize),
        group: u32,
    ) {
        let mut stamp = self.batch(w, lane as u32, Batch::Small);
        stamp.epoch = group + 1;
        let read = Touch { site, write: false, class: Class::Small, strong: None };
        self.touch_async(w, lane, stamp, Space::Global, [from], read);
        let touch = Touch { write: true, ..read };
        let space = Space::Shared(to.0.cta);
        self.touch_async(w, lane, stamp, space, [(to.0.offset as usize, to.1 as usize)], touch);
    }

    /// A multiplication reads runs of shared memory.
    pub fn mma_source(
        &mut self,
        w: u32,
        lane: usize,
        site: u32,
        cta: u32,
        runs: impl Iterator<Item = (usize, usize)>,
    ) {
        let stamp = self.batch(w, lane as u32, Batch::Mma);
        let touch = Touch { site, write: false, class: Class::Mma, strong: None };
        self.touch_async(w, lane, stamp, Space::Shared(cta), runs, touch);
    }

    /// A tcgen05 operation touches `columns` columns from `column` of granules `rows` (16 lanes
    /// each, by bits).
    #[expect(clippy::too_many_arguments, reason = "the parts of one access")]
    pub fn tensor(
        &mut self,
        w: u32,
        lane: usize,
        cta: u32,
        site: u32,
        rows: u8,
        (column, columns): (u32, u32),
        (class, write, pipeline): (Class, bool, u16),
    ) {
        let (batch, of) = match class {
            Class::Ld => (Batch::Ld, LANES as u32),
            Class::St => (Batch::St, LANES as u32),
            _ => (Batch::Mma, lane as u32),
        };
        let stamp = if class == Class::Dealloc {
            let warp = &self.warps[w as usize];
            Stamp { id: warp.lane(lane), epoch: warp.epoch }
        } else {
            self.batch(w, of, batch)
        };
        let touch = Touch { site, write, class, strong: None };
        let Detector { warps, ctas, kinds, units, .. } = self;
        let entry = kinds.entry(Kind { tag: pipeline, ..touch.kind() });
        let entry = entry.at(stamp).with_bytes(15);
        let warp = &mut warps[w as usize];
        if class != Class::Dealloc {
            warp.split(if class == Class::Mma { 1 << lane } else { u32::MAX }, |strand| {
                strand.issued.raise(stamp);
            });
        }
        let home = ctas[warp.cta as usize].home;
        let memory = &mut ctas[cta as usize].tensor;
        let memory = memory.get_or_insert_with(|| Box::new(Cells::new(8 * 512)));
        memory.tidy();
        let who = (warp.unit, lane as u32, home);
        let mut viewer = Viewer::new((warp.of(lane), units, kinds), who, (TENSOR, touch));
        viewer.pipeline = pipeline;
        let mut first = None;
        for row in 0..8 {
            if rows >> row & 1 == 0 {
                continue;
            }
            for column in column..(column + columns).min(512) {
                let key = row * 512 + column;
                let Cells { cells, more, .. } = &mut **memory;
                let conflict =
                    cells[key as usize].touch(key, Some(more), entry, write, &mut viewer);
                first = first.or(conflict);
            }
        }
        if let Some(conflict) = first {
            self.report_conflict(w, lane as u32, Space::Tensor(cta), conflict, touch);
        }
    }

    /// Granules that hold lanes `first` to `first + lanes`.
    pub fn granules(first: u32, lanes: u32) -> u8 {
        let from = first / GRANULE_LANES;
        let to = (first + lanes).div_ceil(GRANULE_LANES).min(8);
        (from..to).fold(0, |rows, row| rows | 1 << row)
    }
}

/// Enters a read of shared memory by lanes that know the same. The first lane that reads what nobody has written.
fn read_shared(
    shared: &mut Cells,
    viewer: &mut Viewer<'_>,
    whole: Entry,
    (offsets, bytes): (&Lanes64, usize),
    lanes: u32,
    conflicts: &mut Vec<(Conflict, usize)>,
) -> Option<usize> {
    let readers = Readers::of(offsets, lanes, viewer.merges);
    let (mut alike, mut unwritten) = (Alike::default(), None);
    let enter = |lane: usize, key: usize, new: Entry| {
        if shared.written[key] & new.bytes() != new.bytes() {
            unwritten = unwritten.or(Some(lane));
        }
        let (cell, merges) = (&mut shared.cells[key], viewer.merges);
        if cell.read_again(new, merges) || cell.read_alike(&alike, new, viewer) {
            return;
        }
        viewer.lane = lane as u32;
        match cell.read_first(key as u32, &mut shared.more, new, viewer) {
            Ok(read) => alike = read,
            Err(conflict) => conflicts.push((conflict, lane)),
        }
    };
    let entries = lanes_of(readers.lanes).map(|lane| {
        let is_whole = readers.whole >> lane & 1 == 1;
        let id = if is_whole { whole.stamp.id } else { whole.stamp.id + 1 + lane as u32 };
        (lane, whole.with_id(id))
    });
    each_cell(entries, offsets, bytes, enter);
    unwritten
}

/// Calls `enter` with the cells that lanes touch.
#[inline(always)]
fn each_cell(
    entries: impl Iterator<Item = (usize, Entry)>,
    offsets: &Lanes64,
    bytes: usize,
    mut enter: impl FnMut(usize, usize, Entry),
) {
    for (lane, entry) in entries {
        // A word is one cell, as a rule; anything else is cut into cells.
        let mut at = offsets[lane] as usize;
        let end = at + bytes;
        while at < end {
            let cell = at / 4;
            let next = (cell * 4 + 4).min(end);
            let mask = 15u8 << (at % 4) & 15 >> (cell * 4 + 4 - next);
            enter(lane, cell, entry.with_bytes(mask));
            at = next;
        }
    }
}

/// The lanes of a read that are entered.
struct Readers {
    lanes: u32,
    /// Those that stand for the warp, since others read the same.
    whole: u32,
}

impl Readers {
    fn of(offsets: &Lanes64, lanes: u32, merges: bool) -> Readers {
        if lanes != FULL || !merges {
            return Readers { lanes, whole: 0 };
        }
        let mut starts = 1;
        for lane in 1..LANES {
            starts |= u32::from(offsets[lane] != offsets[lane - 1]) << lane;
        }
        let (low, high) = offsets.split_at(LANES / 2);
        if low == high {
            return Readers { lanes: starts & 0xFFFF, whole: FULL };
        }
        Readers { lanes: starts, whole: !starts >> 1 }
    }
}
