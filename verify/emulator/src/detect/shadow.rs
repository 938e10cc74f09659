//! What was last done to memory: for each cell its last write and its last read, with the bytes
//! they touched and the instruction.
//!
//! A cell is 4 bytes of shared or global memory, or 16 lanes of a column of tensor memory. One
//! write and one read are in the cell; where several unordered ones count (bytes of one word
//! written by different threads, many readers) the others are in a set beside it, which cells that
//! were accessed alike share ([`More`]). In global memory
//! only cells that the launch has written have such sets; of the others the last read is all that
//! is remembered, so that a large input that everybody reads costs three bytes for each of its
//! bytes. What is forgotten can hide a race, never invent one.

mod access;
mod more;
mod pages;

use super::clock::{SUBS, Stamp};
pub(crate) use access::Class;
pub(super) use access::{Entry, Kind, Kinds};
pub(super) use more::More;
pub(super) use pages::Pages;
use std::ops::Range;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    write: Entry,
    read: Entry,
    /// Its set in [`More`].
    set: u32,
}

/// An earlier access that the new one is not ordered after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub before: Entry,
    pub wrote: bool,
    pub cell: u32,
}

/// What a new access is compared with.
pub(super) trait Earlier {
    /// Whether an access is before the new one.
    fn ordered(&mut self, before: &Entry) -> bool;

    /// Whether an access is known to be, whichever lane of the warp makes the new one.
    fn known(&self, before: &Entry) -> bool;

    /// Whether two lanes that read the same stand for the warp.
    fn merges(&self) -> bool;

    /// The set of which that was found out for all.
    fn cleared(&mut self) -> &mut u32;

    /// The cell has one more conflict than that which is returned.
    fn further(&mut self, conflict: Conflict);

    /// Whether whatever races with an access that is before the new one races with the new one, too. A strong access may
    /// be in no race where a weak one, or one of a narrower scope, that was made before it is.
    fn supersedes(&self, before: &Entry) -> bool;
}

/// A cell before and after a read by a warp. The next lane's cell often is in the same state, and what was found out
/// for this one holds for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alike {
    /// A read of the bytes and kind of the new one.
    like: Entry,
    read: Entry,
    set: u32,
    to: u32,
}

/// A cell before and after an access that was in no conflict. Of an operation that touches many cells, most are in the
/// state of the one before, and become what that became.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last(Option<(Cell, Cell)>);

impl Last {
    /// What a whole cell in this state becomes, if that is known.
    #[inline(always)]
    pub fn became(&self, cell: &Cell) -> Option<Cell> {
        self.0.filter(|(before, _)| before == cell).map(|(_, after)| after)
    }
}

impl Cell {
    /// Enters an access of an operation, all of whose accesses are alike but for the bytes, as [`touch`](Self::touch) does.
    #[inline]
    pub fn touch_next(
        &mut self,
        last: &mut Last,
        key: u32,
        more: Option<&mut More>,
        (new, write): (Entry, bool),
        earlier: &mut impl Earlier,
    ) -> Option<Conflict> {
        if new.is_whole()
            && let Some(after) = last.became(self)
        {
            *self = after;
            return None;
        }
        let before = *self;
        let conflict = self.touch(key, more, new, write, earlier);
        let is_known = conflict.is_none() && new.is_whole();
        *last = if is_known { Last(Some((before, *self))) } else { Last::default() };
        conflict
    }

    /// When the last write of it was.
    pub fn last_write(&self) -> Stamp {
        self.write.stamp
    }

    /// Enters a read where it will change the same as before in `alike`.
    #[inline(always)]
    pub fn read_alike(&mut self, alike: &Alike, new: Entry, earlier: &impl Earlier) -> bool {
        let same = self.read == alike.read && self.set == alike.set && new.is_like(alike.like);
        if !same || self.write.is_some() && !earlier.known(&self.write) {
            return false;
        }
        self.read = new;
        self.set = alike.to;
        true
    }

    /// Enters a read without conflict; what it did, if that does not depend on the lane: where no one of the own warp has
    /// been.
    #[inline]
    pub fn read_first(
        &mut self,
        key: u32,
        more: &mut More,
        new: Entry,
        earlier: &mut impl Earlier,
    ) -> Result<Alike, Conflict> {
        let (read, set) = (self.read, self.set);
        let is_foreign = !read.is_some() || read.stamp.id / SUBS != new.stamp.id / SUBS;
        let is_plain = is_foreign && !new.is_strong() && more.of(set, false).is_empty();
        match self.touch(key, Some(more), new, false, earlier) {
            Some(conflict) => Err(conflict),
            None if is_plain => Ok(Alike { like: new, read, set, to: self.set }),
            None => Ok(Alike::default()),
        }
    }

    /// Enters a read like the last one: by the same instruction of a warp that has handed nothing over since, of the same
    /// bytes. What was found out then holds, since no write has come between and nobody knows less than before, if the
    /// lane is the same or one may stand for the warp (`merges`).
    #[inline(always)]
    pub fn read_again(&mut self, new: Entry, merges: bool) -> bool {
        let before = &mut self.read;
        let same = before.is_like(new)
            && before.stamp.epoch == new.stamp.epoch
            && (before.stamp.id == new.stamp.id
                || merges && before.stamp.id / SUBS == new.stamp.id / SUBS);
        if same && before.stamp.id != new.stamp.id {
            // The warp has read it.
            before.stamp.id = new.stamp.id / SUBS * SUBS;
        }
        same
    }

    /// Enters a write that another lane makes with it, of the same value.
    pub fn join(&mut self, more: &mut More, new: Entry) {
        self.set = more.with(self.set, true, new);
    }

    /// Enters an access. The first that conflicts and is not before it is returned; of others `earlier` is told, since the
    /// first may be a disputed point that hides an error.
    #[inline]
    pub fn touch(
        &mut self,
        key: u32,
        more: Option<&mut More>,
        mut new: Entry,
        write: bool,
        earlier: &mut impl Earlier,
    ) -> Option<Conflict> {
        let mut conflict = None;
        let bytes = new.bytes();
        let overlaps = |e: &Entry| e.bytes() & bytes != 0;
        let mut keep: [Option<(bool, Entry)>; 2] = [None; 2];
        if self.write.is_some() {
            let before = self.write;
            let is_ordered = earlier.ordered(&before);
            if overlaps(&before) && !is_ordered {
                conflict = Some(Conflict { before, wrote: true, cell: key });
            }
            if write {
                let gone = if earlier.supersedes(&before) { bytes } else { 0 };
                if before.bytes() & !gone != 0 {
                    keep[0] = Some((true, before.with_bytes(before.bytes() & !gone)));
                }
            }
        }
        if self.read.is_some() {
            let before = self.read;
            if write {
                if overlaps(&before) && !earlier.ordered(&before) {
                    let read = Conflict { before, wrote: false, cell: key };
                    match conflict {
                        Some(_) => earlier.further(read),
                        None => conflict = Some(read),
                    }
                }
                let rest = before.bytes() & !new.bytes();
                self.read = if rest == 0 { Entry::default() } else { before.with_bytes(rest) };
                if !earlier.supersedes(&before) {
                    keep[1] = Some((false, before.with_bytes(before.bytes() & bytes)));
                }
            } else if before.is_like(new)
                && before.stamp.epoch == new.stamp.epoch
                && before.stamp.id / SUBS == new.stamp.id / SUBS
                && (earlier.merges() || before.stamp.id == new.stamp.id)
            {
                // Lanes of one instruction that read the same: the warp has read it.
                if before.stamp.id != new.stamp.id {
                    new.stamp.id = new.stamp.id / SUBS * SUBS;
                }
            } else if more.is_some()
                && (before.bytes() & !new.bytes() != 0
                    || before.class() != new.class()
                    || !earlier.supersedes(&before)
                    || before.stamp != new.stamp && !earlier.ordered(&before))
            {
                keep[1] = Some((false, before));
            }
        }
        if let Some(more) = more {
            if self.set != 0 {
                if *earlier.cleared() != self.set {
                    let marks = more.of(self.set, write);
                    for &(wrote, before) in marks {
                        if !(write || wrote) || !overlaps(&before) || earlier.ordered(&before) {
                            continue;
                        }
                        let hit = Conflict { before, wrote, cell: key };
                        match conflict {
                            Some(_) => earlier.further(hit),
                            None => conflict = Some(hit),
                        }
                    }
                    if write && marks.iter().all(|mark| earlier.known(&mark.1)) {
                        *earlier.cleared() = self.set;
                    }
                }
                if write {
                    self.set = match new.is_strong() {
                        false => more.without(self.set, bytes),
                        true => more.without_some(self.set, bytes, |e| earlier.supersedes(e)),
                    };
                }
            }
            for (wrote, entry) in keep.into_iter().flatten() {
                self.set = more.with(self.set, wrote, entry);
            }
        }
        if write {
            self.write = new;
        } else {
            self.read = new;
        }
        conflict
    }
}

/// Cells of a memory that has a fixed size.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub cells: Vec<Cell>,
    pub more: More,
    /// Bytes that were written, four bits for a cell.
    pub written: Vec<u8>,
}

impl Cells {
    pub fn new(cells: usize) -> Cells {
        Cells {
            cells: vec![Cell::default(); cells],
            more: More::default(),
            written: vec![0; cells],
        }
    }

    /// Enters an access of an operation to whole cells, as [`Cell::touch_next`] does.
    pub fn touch_run(
        &mut self,
        last: &mut Last,
        run: Range<usize>,
        (new, write): (Entry, bool),
        earlier: &mut impl Earlier,
    ) {
        if run.is_empty() {
            return;
        }
        if write {
            self.written[run.clone()].fill(15);
        }
        let mut at = run.start;
        while at < run.end {
            if let Some((before, after)) = last.0 {
                let alike = self.cells[at..run.end].iter_mut().take_while(|cell| **cell == before);
                at += alike.map(|cell| *cell = after).count();
                if at == run.end {
                    break;
                }
            }
            let cell = &mut self.cells[at];
            let access = (new, write);
            if let Some(conflict) =
                cell.touch_next(last, at as u32, Some(&mut self.more), access, earlier)
            {
                earlier.further(conflict);
            }
            at += 1;
        }
    }

    /// Frees sets that no cell has any more, if there are many.
    pub fn tidy(&mut self) {
        if self.more.is_full() {
            let cells = self.cells.len();
            self.more.keep(cells, self.cells.iter_mut().map(|cell| &mut cell.set));
        }
    }
}

/// Cells that an access touches.
pub(super) enum Part {
    /// All bytes of these.
    Whole(Range<usize>),
    /// Bytes of one, by a mask.
    Bytes(usize, u8),
}

/// The cells that `bytes` bytes at `offset` touch, in their order: those of which all bytes are touched together.
pub(super) fn parts_of(offset: usize, bytes: usize) -> impl Iterator<Item = Part> {
    let end = offset + bytes;
    let whole = offset.div_ceil(4)..end / 4;
    let mut cut = cells_of(offset, bytes).filter(move |_| bytes != 0);
    let (first, last) = if whole.is_empty() {
        (cut.next(), cut.next())
    } else {
        let low = (!offset.is_multiple_of(4)).then_some((offset / 4, 15u8 << (offset % 4) & 15));
        let high = (!end.is_multiple_of(4)).then_some((end / 4, 15 >> (4 - end % 4)));
        (low, high)
    };
    let bytes = |cut: Option<(usize, u8)>| cut.map(|(cell, mask)| Part::Bytes(cell, mask));
    let whole = (!whole.is_empty()).then_some(Part::Whole(whole));
    [bytes(first), whole, bytes(last)].into_iter().flatten()
}

/// The cells that `bytes` bytes at `offset` touch, each with its byte mask.
pub(super) fn cells_of(offset: usize, bytes: usize) -> impl Iterator<Item = (usize, u8)> {
    let end = offset + bytes;
    (offset / 4..end.div_ceil(4)).map(move |cell| {
        let low = offset.saturating_sub(cell * 4);
        let high = (end - cell * 4).min(4);
        (cell, 15u8 << low & 15 >> (4 - high))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An access by a thread and an instruction of its own.
    pub(super) fn entry(id: u32, mask: u8) -> Entry {
        Entry::numbered(id, Stamp { id, epoch: 1 }).with_bytes(mask)
    }

    /// Knows that accesses of one instruction are not before it.
    pub(super) struct Without(pub u32, pub u32);

    impl Earlier for Without {
        fn ordered(&mut self, before: &Entry) -> bool {
            self.known(before)
        }

        fn known(&self, before: &Entry) -> bool {
            before.number() != self.0
        }

        fn merges(&self) -> bool {
            false
        }

        fn cleared(&mut self) -> &mut u32 {
            &mut self.1
        }

        fn further(&mut self, _: Conflict) {}

        fn supersedes(&self, before: &Entry) -> bool {
            before.number() != KEPT
        }
    }

    /// The same, and counts conflicts.
    struct Counting(u32, u32, usize);

    impl Earlier for Counting {
        fn ordered(&mut self, before: &Entry) -> bool {
            self.known(before)
        }

        fn known(&self, before: &Entry) -> bool {
            before.number() != self.0
        }

        fn merges(&self) -> bool {
            false
        }

        fn cleared(&mut self) -> &mut u32 {
            &mut self.1
        }

        fn further(&mut self, _: Conflict) {
            self.2 += 1;
        }

        fn supersedes(&self, _: &Entry) -> bool {
            true
        }
    }

    /// An instruction whose accesses nothing supersedes.
    const KEPT: u32 = 77;

    #[test]
    fn what_is_not_superseded_stays_beside_what_came_later() {
        let (mut cell, mut more) = (Cell::default(), More::default());
        let mut touch = |e, write, not| {
            cell.touch(0, Some(&mut more), e, write, &mut Without(not, 0)).is_some()
        };
        assert!(!touch(entry(KEPT, 15), true, 0));
        assert!(!touch(entry(2, 15), true, 0));
        assert!(touch(entry(3, 15), false, KEPT), "the first write is still known");
        assert!(!touch(entry(4, 15), true, 0));
        assert!(!touch(entry(5, 15), true, 2), "the second one is not");
    }

    #[test]
    fn halves_of_a_word_do_not_conflict() {
        let (mut cell, mut more) = (Cell::default(), More::default());
        let mut touch = |e, write, not| {
            cell.touch(0, Some(&mut more), e, write, &mut Without(not, 0)).is_some()
        };
        assert!(!touch(entry(1, 3), true, 0));
        assert!(!touch(entry(2, 12), true, 1));
        assert!(!touch(entry(3, 0), false, 2));
        assert!(touch(entry(4, 2), false, 1), "the first half is still known");
    }

    #[test]
    fn an_older_write_keeps_its_time() {
        let (mut cell, mut more) = (Cell::default(), More::default());
        let at = |id, epoch, mask| entry(id, mask).at(Stamp { id, epoch });
        // A word that all know, then its bytes, of which the first one's writer is not known.
        let mut earlier = Without(9, 0);
        let first = entry(9, 1).at(Stamp { id: 1, epoch: 2 });
        let bytes = [at(1, 1, 15), first, at(2, 2, 4), at(3, 2, 2), at(4, 2, 8)];
        for new in bytes {
            let conflict = cell.touch(0, Some(&mut more), new, true, &mut earlier);
            assert!(conflict.is_none(), "{new:?}");
        }
        assert!(cell.touch(0, Some(&mut more), at(5, 2, 1), true, &mut earlier).is_some());
    }

    #[test]
    fn every_reader_counts_for_the_next_writer() {
        let (mut cell, mut more) = (Cell::default(), More::default());
        for id in 1..4 {
            let mut earlier = Without(id - 1, 0);
            assert!(cell.touch(0, Some(&mut more), entry(id, 15), false, &mut earlier).is_none());
        }
        let conflict = cell.touch(0, Some(&mut more), entry(9, 15), true, &mut Without(2, 0));
        assert_eq!(conflict.map(|c| (c.before.number(), c.wrote)), Some((2, false)));
    }

    #[test]
    fn cells_in_one_state_are_read_alike() {
        let mut cells = [Cell::default(); 3];
        let mut more = More::default();
        for warp in [1, 2, 3] {
            let mut earlier = Without(warp - 1, 0);
            let new = entry(warp, 15).with_id(warp * SUBS);
            let alike = cells[0].read_first(0, &mut more, new, &mut earlier).expect("no write");
            assert!(cells[1].read_alike(&alike, new, &earlier));
            cells[2].touch(0, Some(&mut more), new, false, &mut earlier);
        }
        let state = |cell: &Cell| (cell.read, cell.set);
        assert_eq!(more.of(cells[0].set, true).len(), 2);
        assert_eq!((state(&cells[1]), state(&cells[2])), (state(&cells[0]), state(&cells[0])));
    }

    #[test]
    fn parts_are_the_same_cells() {
        for (offset, bytes) in (0..9).flat_map(|offset| (0..19).map(move |bytes| (offset, bytes))) {
            let parts: Vec<_> = parts_of(offset, bytes)
                .flat_map(|part| match part {
                    Part::Whole(cells) => cells.map(|cell| (cell, 15)).collect(),
                    Part::Bytes(cell, mask) => vec![(cell, mask)],
                })
                .collect();
            let mut cells: Vec<_> = cells_of(offset, bytes).collect();
            cells.retain(|_| bytes != 0);
            assert_eq!(parts, cells, "{bytes} bytes at {offset}");
        }
    }

    #[test]
    fn a_run_is_entered_as_its_cells_are() {
        let steps = [
            (1, 0..8, false),
            (2, 2..6, true),
            (3, 0..8, false),
            (4, 1..7, true),
            (5, 0..8, false),
        ];
        let (mut together, mut single) = (Cells::new(8), Cells::new(8));
        let (mut pages, mut alone) = (Pages::default(), Pages::default());
        for (id, run, write) in steps {
            // What is not ordered after the one before conflicts in the same cells.
            let earlier = || Counting(id - 1, 0, 0);
            let (mut a, mut b, mut c, mut d) = (earlier(), earlier(), earlier(), earlier());
            let new = (entry(id, 15), write);
            together.touch_run(&mut Last::default(), run.clone(), new, &mut a);
            pages.touch_run(&mut Last::default(), run.clone(), new, &mut c);
            for at in run {
                let Cells { cells, more, .. } = &mut single;
                if let Some(x) = cells[at].touch(at as u32, Some(more), new.0, write, &mut b) {
                    b.further(x);
                }
                if let Some(x) = alone.touch(at, new.0, write, &mut d) {
                    d.further(x);
                }
            }
            assert_eq!((a.2, c.2), (b.2, d.2), "step {id}");
        }
        assert_eq!(together.cells, single.cells);
        let last = |pages: &Pages| (0..8).map(|at| pages.last(at)).collect::<Vec<_>>();
        assert_eq!(last(&pages), last(&alone));
    }

    #[test]
    fn bytes_of_cells() {
        let all = |o, n| cells_of(o, n).collect::<Vec<_>>();
        assert_eq!(all(2, 4), [(0, 12), (1, 3)]);
        assert_eq!(all(5, 1), [(1, 2)]);
        assert_eq!(all(8, 8), [(2, 15), (3, 15)]);
    }
}
