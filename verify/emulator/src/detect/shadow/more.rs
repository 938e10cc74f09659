//! Accesses that a cell has no room for, as sets that cells share.
//!
//! Where eight warps read a row of a tile, each of its cells has the same readers. So a cell holds
//! the number of a set. Sets never change: another access makes another set, which the next cell of
//! the row finds made. Those that no cell holds any more are freed when there are many.

use super::Entry;
use crate::detect::clock::SUBS;
use std::ops::Range;

/// Entries of a set at most; older ones make room.
const MORE: usize = 64;

/// Sets that are made before the first ones are freed.
const FEW: usize = 256;

/// Cells for each set that is made before some are freed: so looking at all cells costs little for each.
const CELLS: usize = 16;

/// An access, with whether it is a write.
type Mark = (bool, Entry);

#[derive(Clone, Debug)]
struct Set {
    /// Where its accesses are.
    marks: Range<u32>,
    /// All their bytes.
    bytes: u8,
    writes: bool,
}

/// What became of a set: the next cell will ask the same.
#[derive(Clone, Copy, Debug, Default)]
struct Step<What> {
    from: u32,
    what: What,
    to: u32,
}

/// The sets, numbered from one; 0 is the empty one.
#[derive(Debug)]
pub(in crate::detect) struct More {
    sets: Vec<Set>,
    marks: Vec<Mark>,
    /// The last addition of an access of each lane.
    added: Box<[Step<Mark>; SUBS as usize]>,
    /// The last removal of bytes.
    removed: Step<u8>,
    limit: usize,
}

impl Default for More {
    fn default() -> More {
        More {
            sets: Vec::new(),
            marks: Vec::new(),
            added: Box::new([Step::default(); SUBS as usize]),
            removed: Step::default(),
            limit: FEW,
        }
    }
}

impl More {
    fn get(&self, set: u32) -> Option<&Set> {
        self.sets.get((set as usize).wrapping_sub(1))
    }

    fn marks(&self, set: &Set) -> &[Mark] {
        &self.marks[set.marks.start as usize..set.marks.end as usize]
    }

    /// The accesses of a set with which a write, or a read, can conflict, and perhaps others.
    #[inline]
    pub fn of(&self, set: u32, write: bool) -> &[Mark] {
        match self.get(set) {
            Some(set) if write || set.writes => self.marks(set),
            _ => &[],
        }
    }

    /// The set with one access more. It takes the place of an earlier one by the same thread.
    #[inline]
    pub fn with(&mut self, set: u32, wrote: bool, entry: Entry) -> u32 {
        let mark = (wrote, entry);
        let step = &self.added[(entry.stamp.id % SUBS) as usize];
        if step.from == set && step.what == mark && step.to != 0 {
            return step.to;
        }
        self.add(set, mark)
    }

    #[inline(never)]
    fn add(&mut self, from: u32, mark: Mark) -> u32 {
        let (wrote, entry) = mark;
        let start = self.marks.len();
        if let Some(Set { marks, .. }) = self.get(from).cloned() {
            self.marks.extend_from_within(marks.start as usize..marks.end as usize);
        }
        // What a thread did before it handed over stays apart: others may know that much of it. But of the bytes that it
        // accesses again the later access says all.
        let same = |m: &&mut Mark| {
            m.0 == wrote
                && (m.1.number() == entry.number() || !entry.is_strong())
                && m.1.stamp.id == entry.stamp.id
                && m.1.class() == entry.class()
                && (m.1.stamp == entry.stamp || m.1.bytes() & !entry.bytes() == 0)
        };
        match self.marks[start..].iter_mut().find(same) {
            Some(old) => old.1 = entry.with_bytes(entry.bytes() | old.1.bytes()),
            None => {
                if self.marks.len() - start == MORE {
                    self.marks.remove(start);
                }
                self.marks.push(mark);
            }
        }
        let to = self.close(start);
        self.added[(entry.stamp.id % SUBS) as usize] = Step { from, what: mark, to };
        to
    }

    /// The set without these bytes, which are written.
    #[inline]
    pub fn without(&mut self, set: u32, bytes: u8) -> u32 {
        let Some(Set { marks, bytes: all, .. }) = self.get(set) else { return 0 };
        if all & bytes == 0 {
            return set;
        }
        if all & !bytes == 0 {
            return 0;
        }
        if (self.removed.from, self.removed.what) == (set, bytes) {
            return self.removed.to;
        }
        let start = self.marks.len();
        for at in marks.start as usize..marks.end as usize {
            let (wrote, entry) = self.marks[at];
            let rest = entry.with_bytes(entry.bytes() & !bytes);
            if rest.is_some() {
                self.marks.push((wrote, rest));
            }
        }
        let to = self.close(start);
        self.removed = Step { from: set, what: bytes, to };
        to
    }

    /// The set without these bytes of the accesses that go.
    pub fn without_some(&mut self, set: u32, bytes: u8, goes: impl Fn(&Entry) -> bool) -> u32 {
        let Some(of) = self.get(set).cloned() else { return 0 };
        let goes = |entry: &Entry| entry.bytes() & bytes != 0 && goes(entry);
        if !self.marks(&of).iter().any(|mark| goes(&mark.1)) {
            return set;
        }
        let start = self.marks.len();
        for at in of.marks.start as usize..of.marks.end as usize {
            let (wrote, entry) = self.marks[at];
            let gone = if goes(&entry) { bytes } else { 0 };
            let rest = entry.with_bytes(entry.bytes() & !gone);
            if rest.is_some() {
                self.marks.push((wrote, rest));
            }
        }
        if self.marks.len() == start { 0 } else { self.close(start) }
    }

    /// The marks from `start` on become a set.
    fn close(&mut self, start: usize) -> u32 {
        let marks = &self.marks[start..];
        let bytes = marks.iter().fold(0, |bytes, mark| bytes | mark.1.bytes());
        let writes = marks.iter().any(|mark| mark.0);
        self.sets.push(Set { marks: start as u32..self.marks.len() as u32, bytes, writes });
        self.sets.len() as u32
    }

    /// Whether it is time to [`keep`](Self::keep) only some.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.sets.len() >= self.limit
    }

    /// Keeps the sets that `cells` cells hold.
    pub fn keep<'a>(&mut self, cells: usize, held: impl Iterator<Item = &'a mut u32>) {
        let mut numbers = vec![0; self.sets.len() + 1];
        let mut kept = More::default();
        for set in held.filter(|set| **set != 0) {
            let number = &mut numbers[*set as usize];
            if *number == 0 {
                let start = kept.marks.len();
                kept.marks.extend_from_slice(self.of(*set, true));
                *number = kept.close(start);
            }
            *set = *number;
        }
        kept.limit = FEW + (2 * kept.sets.len()).max(cells / CELLS);
        *self = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::entry;
    use super::*;

    #[test]
    fn cells_that_are_accessed_alike_share_sets() {
        let mut more = More::default();
        let row = |more: &mut More| {
            let one = more.with(0, false, entry(1, 15));
            let both = more.with(one, true, entry(2, 3));
            (one, both, more.without(both, 12))
        };
        let (one, both, rest) = row(&mut more);
        assert_eq!(row(&mut more), (one, both, rest));
        assert_eq!(more.of(rest, true), [(false, entry(1, 3)), (true, entry(2, 3))]);
        assert_eq!((more.without(both, 15), more.without(one, 15)), (0, 0));
        assert!(more.of(one, false).is_empty() && more.of(both, false).len() == 2);
    }

    #[test]
    fn a_thread_is_in_a_set_once() {
        let mut more = More::default();
        let first = more.with(0, false, entry(1, 1));
        let again = more.with(first, false, entry(1, 2));
        assert_eq!(more.of(again, true), [(false, entry(1, 3))]);
    }

    #[test]
    fn what_nobody_holds_is_freed() {
        let mut more = More::default();
        let mut cells = [0; 3];
        for id in 1..=FEW as u32 {
            cells[id as usize % 2] = more.with(0, false, entry(id, 15));
        }
        assert!(more.is_full());
        more.keep(cells.len(), cells.iter_mut());
        assert_eq!((more.sets.len(), more.marks.len()), (2, 2));
        let ids = cells.map(|set| more.of(set, true).first().map(|mark| mark.1.stamp.id));
        assert_eq!(ids, [Some(FEW as u32), Some(FEW as u32 - 1), None]);
    }
}
