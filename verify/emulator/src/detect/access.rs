//! Enters the accesses of instructions and of asynchronous operations into the shadow, and judges them.

use super::clock::{SUBS, Stamp};
use super::shadow::{Alike, Cells, Class, Conflict, Entry, Last, Part, cells_of, parts_of};
use super::strand::{GLOBAL, SHARED};
use super::viewer::Viewer;
use super::{Detector, Space, Touch};
use crate::ir::{LANES, Lanes64};
use crate::warp::FULL;
use crate::world::lanes_of;

impl Detector {
    /// Lanes of a warp access memory at `offsets`, `bytes` bytes each; `repeats` write what one before them does. What
    /// they read of shared memory has to be written.
    pub fn access(
        &mut self,
        w: u32,
        mask: u32,
        space: Space,
        offsets: &Lanes64,
        bytes: usize,
        (touch, repeats): (Touch, u32),
    ) {
        if space == Space::Global && !self.previous.is_empty() {
            self.check_previous(w, mask, offsets, bytes, touch);
        }
        self.tidy(space);
        let memory = self.memory(space);
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
            let mut viewer = Viewer::new((strand, units, kinds), who, (kind, memory, touch));
            viewer.merges = lanes == strand.lanes && warp.strands.len() == 1;
            if let (Space::Shared(cta), false) = (space, touch.write) {
                let cells = &mut ctas[cta as usize].shared;
                let access = (offsets, bytes);
                let lane = read_shared(cells, &mut viewer, whole, access, lanes);
                unwritten = unwritten.or(lane);
                conflicts.append(&mut viewer.into_found());
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
                        viewer.add(conflict);
                    }
                }
            }
            conflicts.append(&mut viewer.into_found());
        }
        if let Some(lane) = unwritten {
            self.report_unwritten(w, lane as u32, space, offsets[lane], touch.site);
        }
        for (conflict, lane) in conflicts {
            let is_store = conflict.wrote && conflict.before.is_strong();
            let at = (space, conflict.cell);
            if !is_store || !self.is_observed((w, lane), at, conflict.before.stamp) {
                self.report_conflict(w, lane as u32, space, conflict, touch);
            }
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
    pub(super) fn touch_async(
        &mut self,
        w: u32,
        lane: usize,
        stamp: Stamp,
        space: Space,
        runs: impl IntoIterator<Item = (usize, usize)>,
        touch: Touch,
    ) {
        if space == Space::Global && !self.previous.is_empty() {
            let runs: Vec<_> = runs.into_iter().collect();
            for &(offset, bytes) in &runs {
                let at = [offset as u64; LANES];
                self.check_previous(w, 1 << lane, &at, bytes, touch);
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
        let memory = self.memory(space);
        let Detector { warps, ctas, global, kinds, units, issuers, .. } = self;
        let warp = &warps[w as usize];
        if matches!(touch.class, Class::In | Class::Store) {
            issuers.insert((stamp.id, touch.site), warp.unit);
        }
        let entry = kinds.entry(touch.kind()).at(stamp);
        let who = (warp.unit, lane as u32, ctas[warp.cta as usize].home);
        let kind = if space == Space::Global { GLOBAL } else { SHARED };
        let mut viewer = Viewer::new((warp.of(lane), units, kinds), who, (kind, memory, touch));
        let parts = runs.into_iter().flat_map(|(offset, bytes)| parts_of(offset, bytes));
        let mut last = Last::default();
        for part in parts {
            let conflict = match part {
                Part::Whole(run) => {
                    let new = (entry.with_bytes(15), touch.write);
                    match space {
                        Space::Global => global.touch_run(&mut last, run, new, &mut viewer),
                        Space::Shared(cta) | Space::Tensor(cta) => {
                            ctas[cta as usize].shared.touch_run(&mut last, run, new, &mut viewer);
                        }
                    }
                    None
                }
                Part::Bytes(cell, mask) => {
                    let new = (entry.with_bytes(mask), touch.write);
                    match space {
                        Space::Global => global.touch_next(&mut last, cell, new, &mut viewer),
                        Space::Shared(cta) | Space::Tensor(cta) => {
                            let Cells { cells, more, written } = &mut ctas[cta as usize].shared;
                            if touch.write {
                                written[cell] |= mask;
                            }
                            let (key, more) = (cell as u32, Some(more));
                            cells[cell].touch_next(&mut last, key, more, new, &mut viewer)
                        }
                    }
                }
            };
            if let Some(conflict) = conflict {
                viewer.add(conflict);
            }
        }
        for (conflict, _) in viewer.into_found() {
            self.report_conflict(w, lane as u32, space, conflict, touch);
        }
    }

    /// Makes room where the next access will be entered.
    #[inline]
    fn tidy(&mut self, space: Space) {
        match space {
            Space::Global => self.global.tidy(),
            Space::Shared(cta) | Space::Tensor(cta) => self.ctas[cta as usize].shared.tidy(),
        }
    }
}

/// Enters a read of shared memory by lanes that know the same. The first lane that reads what nobody has written.
fn read_shared(
    shared: &mut Cells,
    viewer: &mut Viewer<'_>,
    whole: Entry,
    (offsets, bytes): (&Lanes64, usize),
    lanes: u32,
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
            Err(conflict) => viewer.add(conflict),
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
