//! What asynchronous operations touch: copies, uses of tensor maps, products, and all that reaches tensor memory.

use super::clock::Stamp;
use super::hazard::BarrierUser;
use super::shadow::{Cells, Class, Kind, Last};
use super::viewer::{TENSOR, Viewer};
use super::{Batch, Detector, Space, Touch};
use crate::async_ops::SharedPlace;
use crate::ir::LANES;
use crate::tensor_map::TENSOR_MAP_BYTES;

/// Granules of tensor memory: 16 lanes of a column.
const GRANULE_LANES: u32 = 16;

impl Detector {
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
        let stamp = self.phase_stamp(bar, phase, self.warps[w as usize].cta);
        self.check_barrier_async((w, lane as u32), bar, site, BarrierUser::Async);
        let (place, bytes) = to;
        let touch = Touch { site, write: true, class: Class::In, strong: None, equal: 0 };
        let space = Space::Shared(place.cta);
        self.touch_async(w, lane, stamp, space, [(place.offset as usize, bytes as usize)], touch);
        self.ctas[place.cta as usize].copies.insert(stamp.id, (stamp.epoch, site, touch.write));
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
        let stamp = self.phase_stamp(bar, phase, self.warps[w as usize].cta);
        let touch = Touch { site, write: false, class: Class::In, strong: None, equal: 0 };
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
        let stamp = self.phase_stamp(bar, phase, self.warps[w as usize].cta);
        self.map(w, lane, site, at, stamp);
    }

    /// A copy of bulk group `group` does.
    pub fn map_out(&mut self, w: u32, lane: usize, site: u32, at: usize, group: u32) {
        let mut stamp = self.batch(w, lane as u32, Batch::OutRead);
        stamp.epoch = group + 1;
        self.map(w, lane, site, at, stamp);
    }

    fn map(&mut self, w: u32, lane: usize, site: u32, at: usize, stamp: Stamp) {
        let touch = Touch { site, write: false, class: Class::Map, strong: None, equal: 0 };
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
        let touch = Touch { site, write: false, class: Class::Out, strong: None, equal: 0 };
        let space = Space::Shared(place.cta);
        self.touch_async(w, lane, stamp, space, [(place.offset as usize, bytes as usize)], touch);
        self.ctas[place.cta as usize].copies.insert(stamp.id, (stamp.epoch, site, touch.write));
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
        let touch = Touch { site, write: true, class: Class::Out, strong: None, equal: 0 };
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
        let read = Touch { site, write: false, class: Class::Small, strong: None, equal: 0 };
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
        let touch = Touch { site, write: false, class: Class::Mma, strong: None, equal: 0 };
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
        let touch = Touch { site, write, class, strong: None, equal: 0 };
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
        let mut viewer = Viewer::new((warp.of(lane), units, kinds), who, (TENSOR, None, touch));
        viewer.pipeline = pipeline;
        let mut last = Last::default();
        for row in 0..8 {
            if rows >> row & 1 == 0 {
                continue;
            }
            let first = row * 512 + column;
            let end = row * 512 + (column + columns).min(512);
            let run = first as usize..end as usize;
            memory.touch_run(&mut last, run, (entry, write), &mut viewer);
        }
        for (conflict, _) in viewer.into_found() {
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
