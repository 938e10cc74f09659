//! What was last done to memory: for each cell its last write and its last read, with the bytes
//! they touched and the instruction.
//!
//! A cell is 4 bytes of shared or global memory, or 16 lanes of a column of tensor memory. One
//! write and one read are in the cell; where several unordered ones count (bytes of one word
//! written by different threads, many readers) the others go to a list beside it. In global memory
//! only cells that the launch has written have such lists; of the others the last read is all that
//! is remembered, so that a large input that everybody reads costs no more than eight bytes for
//! each of its bytes. What is forgotten can hide a race, never invent one.

use super::clock::{SUBS, Stamp};

/// Entries beside a cell at most; older ones make room.
const MORE: usize = 64;

/// Cells of a page of global memory.
const PAGE: usize = 1024;

/// Who makes an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// A thread.
    Thread,
    /// `tcgen05.alloc`, for the address that it stores.
    Alloc,
    /// `cp.async`.
    Small,
    /// `st.async` or `red.async`.
    Store,
    /// A bulk copy into shared memory.
    In,
    /// A bulk copy out of shared memory.
    Out,
    Mma,
    /// A product in registers.
    Wgmma,
    Ld,
    St,
    Dealloc,
    /// A load through the cache of constant data.
    Constant,
    /// A copy, of the tensor map that it uses.
    Map,
}

const CLASSES: [Class; 13] = [
    Class::Thread,
    Class::Alloc,
    Class::Small,
    Class::Store,
    Class::In,
    Class::Out,
    Class::Mma,
    Class::Wgmma,
    Class::Ld,
    Class::St,
    Class::Dealloc,
    Class::Constant,
    Class::Map,
];

/// One access, as a cell remembers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub stamp: Stamp,
    pub site: u32,
    info: u32,
}

impl Entry {
    pub fn new(stamp: Stamp, site: u32, class: Class, strong: Option<(u8, u32)>) -> Entry {
        let strong = strong.map_or(0, |(scope, bytes)| {
            1 << 8 | u32::from(scope & 3) << 9 | bytes.trailing_zeros() << 11
        });
        Entry { stamp, site, info: strong | (class as u32) << 4 }
    }

    pub fn with_bytes(self, mask: u8) -> Entry {
        Entry { info: self.info & !15 | u32::from(mask & 15), ..self }
    }

    /// What tells pipelined multiplications from others.
    pub fn with_tag(self, tag: u16) -> Entry {
        Entry { info: self.info & 0xFFFF | u32::from(tag) << 16, ..self }
    }

    pub fn tag(self) -> u16 {
        (self.info >> 16) as u16
    }

    pub fn bytes(self) -> u8 {
        (self.info & 15) as u8
    }

    pub fn class(self) -> Class {
        CLASSES[(self.info >> 4 & 15) as usize % CLASSES.len()]
    }

    /// Scope and size of a strong access.
    pub fn strong(self) -> Option<(u8, u32)> {
        (self.info >> 8 & 1 == 1)
            .then_some(((self.info >> 9 & 3) as u8, 1 << (self.info >> 11 & 7)))
    }

    fn is_some(self) -> bool {
        self.info & 15 != 0
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    write: Entry,
    read: Entry,
    /// Its list in [`More`], counted from one; 0 for none.
    list: u32,
}

/// The entries beside the cells, each with whether it is a write.
#[derive(Debug, Default)]
pub(super) struct More {
    lists: Vec<Vec<(bool, Entry)>>,
    free: Vec<u32>,
}

impl More {
    fn of(&mut self, list: u32) -> Option<&mut Vec<(bool, Entry)>> {
        self.lists.get_mut((list as usize).wrapping_sub(1))
    }

    /// The list of a cell, made if there is none.
    fn made(&mut self, list: &mut u32) -> &mut Vec<(bool, Entry)> {
        if *list == 0 {
            *list = self.free.pop().unwrap_or_else(|| {
                self.lists.push(Vec::new());
                self.lists.len() as u32
            });
        }
        &mut self.lists[*list as usize - 1]
    }
}

/// An earlier access that the new one is not ordered after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub before: Entry,
    pub wrote: bool,
    pub cell: u32,
}

impl Cell {
    /// Enters a read like the last one: by the same instruction of a warp that has handed nothing over since, of the same
    /// bytes. What was found out then holds, since no write has come between and nobody knows less than before, if the
    /// lane is the same or all lanes know the same (`alike`).
    #[inline(always)]
    pub fn read_again(&mut self, new: Entry, alike: bool) -> bool {
        let before = &mut self.read;
        let same = before.site == new.site
            && before.info == new.info
            && before.stamp.epoch == new.stamp.epoch
            && (before.stamp.id == new.stamp.id
                || alike && before.stamp.id / SUBS == new.stamp.id / SUBS);
        if same && before.stamp.id != new.stamp.id {
            // The warp has read it.
            before.stamp.id = new.stamp.id / SUBS * SUBS;
        }
        same
    }

    /// Enters an access. `ordered` says whether an earlier one is before it; the first that
    /// conflicts and is not is returned.
    #[inline]
    pub fn touch(
        &mut self,
        key: u32,
        more: Option<&mut More>,
        mut new: Entry,
        write: bool,
        mut ordered: impl FnMut(&Entry, bool) -> bool,
    ) -> Option<Conflict> {
        let mut conflict = None;
        let bytes = new.bytes();
        let overlaps = |e: &Entry| e.bytes() & bytes != 0;
        let mut keep: [Option<(bool, Entry)>; 2] = [None; 2];
        if self.write.is_some() {
            let before = self.write;
            let is_ordered = ordered(&before, true);
            if overlaps(&before) && !is_ordered {
                conflict = Some(Conflict { before, wrote: true, cell: key });
            }
            if write && before.bytes() & !new.bytes() != 0 {
                keep[0] = Some((true, before.with_bytes(before.bytes() & !new.bytes())));
            }
        }
        if self.read.is_some() {
            let before = self.read;
            if write {
                if overlaps(&before) && conflict.is_none() && !ordered(&before, false) {
                    conflict = Some(Conflict { before, wrote: false, cell: key });
                }
                let rest = before.bytes() & !new.bytes();
                self.read = if rest == 0 { Entry::default() } else { before.with_bytes(rest) };
            } else if before.site == new.site
                && before.stamp.epoch == new.stamp.epoch
                && before.stamp.id / SUBS == new.stamp.id / SUBS
                && before.bytes() == new.bytes()
            {
                // Lanes of one instruction that read the same: the warp has read it.
                if before.stamp.id != new.stamp.id {
                    new.stamp.id = new.stamp.id / SUBS * SUBS;
                }
            } else if before.bytes() & !new.bytes() != 0
                || before.class() != new.class()
                || before.stamp != new.stamp && !ordered(&before, false)
            {
                keep[1] = Some((false, before));
            }
        }
        if let Some(more) = more {
            if write && let Some(list) = more.of(self.list) {
                for (wrote, before) in list.iter_mut() {
                    if overlaps(before) {
                        if conflict.is_none() && !ordered(before, *wrote) {
                            conflict = Some(Conflict { before: *before, wrote: *wrote, cell: key });
                        }
                        *before = before.with_bytes(before.bytes() & !new.bytes());
                    }
                }
                list.retain(|e| e.1.is_some());
                if list.is_empty() {
                    more.free.push(std::mem::take(&mut self.list));
                }
            } else if !write
                && conflict.is_none()
                && let Some(list) = more.of(self.list)
            {
                let hit = list.iter().find(|(wrote, e)| *wrote && overlaps(e) && !ordered(e, true));
                conflict = hit.map(|&(_, before)| Conflict { before, wrote: true, cell: key });
            }
            for (wrote, entry) in keep.into_iter().flatten() {
                let list = more.made(&mut self.list);
                // What a thread did before it handed over stays apart: others may know that much of it.
                let same = |e: &(bool, Entry)| {
                    e.0 == wrote && e.1.stamp == entry.stamp && e.1.class() == entry.class()
                };
                match list.iter_mut().find(|e| same(e)) {
                    Some(old) => old.1 = entry.with_bytes(entry.bytes() | old.1.bytes()),
                    None => {
                        if list.len() == MORE {
                            list.remove(0);
                        }
                        list.push((wrote, entry));
                    }
                }
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
}

/// Cells of global memory, made where it is used.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pages: Vec<Option<Box<[Cell]>>>,
    more: More,
}

impl Pages {
    /// What was written.
    pub fn written(self) -> Written {
        let page = |cells: Box<[Cell]>| -> Option<Box<[u8]>> {
            let masks: Box<[u8]> = cells.iter().map(|cell| cell.write.bytes()).collect();
            masks.iter().any(|&mask| mask != 0).then_some(masks)
        };
        Written(self.pages.into_iter().map(|cells| page(cells?)).collect())
    }

    /// Enters an access, as [`Cell::touch`] does.
    #[inline]
    pub fn touch(
        &mut self,
        at: usize,
        new: Entry,
        write: bool,
        ordered: impl FnMut(&Entry, bool) -> bool,
    ) -> Option<Conflict> {
        let page = at / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let cells = self.pages[page].get_or_insert_with(|| vec![Cell::default(); PAGE].into());
        let cell = &mut cells[at % PAGE];
        let more = (write || cell.write.is_some()).then_some(&mut self.more);
        cell.touch(at as u32, more, new, write, ordered)
    }
}

/// The bytes of global memory that a launch has written, four bits for a cell.
#[derive(Debug)]
pub(crate) struct Written(Vec<Option<Box<[u8]>>>);

impl Written {
    /// Whether any of these bytes was.
    pub fn overlaps(&self, offset: usize, bytes: usize) -> bool {
        cells_of(offset, bytes).any(|(at, mask)| {
            let page = self.0.get(at / PAGE).and_then(|page| page.as_ref());
            page.is_some_and(|masks| masks[at % PAGE] & mask != 0)
        })
    }
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

    fn entry(id: u32, mask: u8) -> Entry {
        Entry::new(Stamp { id, epoch: 1 }, id, Class::Thread, None).with_bytes(mask)
    }

    #[test]
    fn halves_of_a_word_do_not_conflict() {
        let (mut cell, mut more) = (Cell::default(), More::default());
        let mut touch = |e, write| cell.touch(0, Some(&mut more), e, write, |_, _| false).is_some();
        assert!(!touch(entry(1, 3), true));
        assert!(!touch(entry(2, 12), true));
        assert!(!touch(entry(3, 0), false));
        assert!(touch(entry(4, 2), false), "the first half is still known");
    }

    #[test]
    fn an_older_write_keeps_its_time() {
        let (mut cell, mut more) = (Cell::default(), More::default());
        let at = |id, epoch, mask| Entry { stamp: Stamp { id, epoch }, ..entry(id, mask) };
        // A word that all know, then its bytes, which nobody knows.
        let known = |e: &Entry, _: bool| e.stamp.epoch == 1;
        let bytes = [at(1, 1, 15), at(1, 2, 1), at(2, 2, 4), at(3, 2, 2), at(4, 2, 8)];
        for new in bytes {
            assert!(cell.touch(0, Some(&mut more), new, true, known).is_none(), "{new:?}");
        }
        assert!(cell.touch(0, Some(&mut more), at(5, 2, 1), true, known).is_some());
    }

    #[test]
    fn every_reader_counts_for_the_next_writer() {
        let (mut cell, mut more) = (Cell::default(), More::default());
        for id in 1..4 {
            assert!(cell.touch(0, Some(&mut more), entry(id, 15), false, |_, _| false).is_none());
        }
        let only = |e: &Entry, _: bool| e.site != 2;
        let conflict = cell.touch(0, Some(&mut more), entry(9, 15), true, only);
        assert_eq!(conflict.map(|c| (c.before.site, c.wrote)), Some((2, false)));
    }

    #[test]
    fn bytes_of_cells() {
        let all = |o, n| cells_of(o, n).collect::<Vec<_>>();
        assert_eq!(all(2, 4), [(0, 12), (1, 3)]);
        assert_eq!(all(5, 1), [(1, 2)]);
        assert_eq!(all(8, 8), [(2, 15), (3, 15)]);
    }
}
