//! Cells of global memory, made where it is used.
//!
//! An input is only read and an output, as a rule, only written: the writes, the reads and the sets of a page's cells
//! are apart, each made when the first cell of the page has one.

use super::{Cell, Conflict, Earlier, Entry, Last, More};
use crate::detect::clock::Stamp;
use std::ops::Range;

/// Cells of a page.
const PAGE: usize = 1024;

/// One thing of each cell of a page; nothing until the first is there.
#[derive(Debug)]
struct Column<T>(Option<Box<[T; PAGE]>>);

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column(None)
    }
}

impl<T: Copy + Default + PartialEq> Column<T> {
    #[inline(always)]
    fn get(&self, at: usize) -> T {
        self.0.as_ref().map_or_else(T::default, |all| all[at])
    }

    #[inline(always)]
    fn set(&mut self, at: usize, value: T) {
        match &mut self.0 {
            Some(all) => all[at] = value,
            None if value == T::default() => {}
            None => self.0.insert(Box::new([T::default(); PAGE]))[at] = value,
        }
    }

    /// How many from the first on are this.
    fn alike(&self, run: Range<usize>, value: T) -> usize {
        match &self.0 {
            Some(all) => all[run].iter().take_while(|one| **one == value).count(),
            None if value == T::default() => run.len(),
            None => 0,
        }
    }

    /// Makes all of them this.
    fn fill(&mut self, run: Range<usize>, value: T) {
        match &mut self.0 {
            Some(all) => all[run].fill(value),
            None if value == T::default() => {}
            None => self.0.insert(Box::new([T::default(); PAGE]))[run].fill(value),
        }
    }
}

#[derive(Debug, Default)]
struct Page {
    writes: Column<Entry>,
    reads: Column<Entry>,
    sets: Column<u32>,
}

impl Page {
    /// Turns cells from the first on that are as `before` into `after`; how many these are.
    fn turn(&mut self, run: Range<usize>, before: Cell, after: Cell) -> usize {
        let start = run.start;
        let count = self.reads.alike(run, before.read);
        let count = self.writes.alike(start..start + count, before.write);
        let count = self.sets.alike(start..start + count, before.set);
        let run = start..start + count;
        if before.read != after.read {
            self.reads.fill(run.clone(), after.read);
        }
        if before.write != after.write {
            self.writes.fill(run.clone(), after.write);
        }
        if before.set != after.set {
            self.sets.fill(run, after.set);
        }
        count
    }
}

/// The cells of a memory that grows.
#[derive(Debug, Default)]
pub(in crate::detect) struct Pages {
    pages: Vec<Page>,
    more: More,
}

impl Pages {
    /// The last write and the last read of a cell.
    pub fn last(&self, at: usize) -> (Option<Entry>, Option<Entry>) {
        let Some(page) = self.pages.get(at / PAGE) else { return (None, None) };
        let some = |entry: Entry| entry.is_some().then_some(entry);
        (some(page.writes.get(at % PAGE)), some(page.reads.get(at % PAGE)))
    }

    /// Frees sets that no cell has any more, if there are many.
    pub fn tidy(&mut self) {
        if self.more.is_full() {
            let sets = || self.pages.iter().filter_map(|page| page.sets.0.as_ref());
            let count = PAGE * sets().count();
            let sets = self.pages.iter_mut().filter_map(|page| page.sets.0.as_mut());
            self.more.keep(count, sets.flat_map(|sets| sets.iter_mut()));
        }
    }

    /// When the last write of a cell was.
    pub fn last_write(&self, at: usize) -> Stamp {
        self.pages.get(at / PAGE).map_or(Stamp::default(), |page| page.writes.get(at % PAGE).stamp)
    }

    /// Enters a write, as [`Cell::join`] does, in a cell that is there.
    pub fn join(&mut self, at: usize, new: Entry) {
        if let Some(page) = self.pages.get_mut(at / PAGE) {
            let set = page.sets.get(at % PAGE);
            page.sets.set(at % PAGE, self.more.with(set, true, new));
        }
    }

    /// Enters an access, as [`Cell::touch`] does.
    #[inline]
    pub fn touch(
        &mut self,
        at: usize,
        new: Entry,
        write: bool,
        earlier: &mut impl Earlier,
    ) -> Option<Conflict> {
        self.touch_next(&mut Last::default(), at, (new, write), earlier)
    }

    /// Enters an access of an operation to whole cells, as [`Cell::touch_next`] does.
    pub fn touch_run(
        &mut self,
        last: &mut Last,
        run: Range<usize>,
        new: (Entry, bool),
        earlier: &mut impl Earlier,
    ) {
        let mut at = run.start;
        while at < run.end {
            let (number, slot) = (at / PAGE, at % PAGE);
            if let (Some((before, after)), Some(page)) = (last.0, self.pages.get_mut(number)) {
                let here = slot..PAGE.min(slot + run.end - at);
                let count = page.turn(here, before, after);
                at += count;
                if count != 0 {
                    continue;
                }
            }
            if let Some(conflict) = self.touch_next(last, at, new, earlier) {
                earlier.further(conflict);
            }
            at += 1;
        }
    }

    /// Enters an access, as [`Cell::touch_next`] does.
    #[inline]
    pub fn touch_next(
        &mut self,
        last: &mut Last,
        at: usize,
        (new, write): (Entry, bool),
        earlier: &mut impl Earlier,
    ) -> Option<Conflict> {
        let (number, slot) = (at / PAGE, at % PAGE);
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, Page::default);
        }
        let page = &mut self.pages[number];
        let mut cell = Cell {
            write: page.writes.get(slot),
            read: page.reads.get(slot),
            set: page.sets.get(slot),
        };
        // A weak read is not forgotten for a strong one.
        let is_mixed = new.is_strong() && cell.read.is_some() && !cell.read.is_strong();
        let more = (write || cell.write.is_some() || is_mixed).then_some(&mut self.more);
        let conflict = cell.touch_next(last, at as u32, more, (new, write), earlier);
        if write {
            page.writes.set(slot, cell.write);
        }
        page.reads.set(slot, cell.read);
        page.sets.set(slot, cell.set);
        conflict
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Without, entry};
    use super::*;

    #[test]
    fn a_page_holds_what_was_done_to_it() {
        let mut pages = Pages::default();
        let parts = |pages: &Pages, at: usize| {
            let Page { writes, reads, sets } = &pages.pages[at / PAGE];
            (writes.0.is_some(), reads.0.is_some(), sets.0.is_some())
        };
        let touch = |pages: &mut Pages, at, id, write, not| {
            pages.touch(at, entry(id, 15), write, &mut Without(not, 0)).is_some()
        };
        let (input, output) = (5, 3 * PAGE + 7);
        assert!(!touch(&mut pages, input, 1, false, 0));
        assert!(!touch(&mut pages, input, 2, false, 1));
        assert!(!touch(&mut pages, output, 3, true, 0));
        assert_eq!(parts(&pages, input), (false, true, false));
        assert_eq!(parts(&pages, output), (true, false, false));
        // Both halves of a race are there, whichever came first.
        assert!(touch(&mut pages, input, 4, true, 2));
        assert!(touch(&mut pages, output, 5, false, 3));
        // Two unordered readers of what was written are a set.
        assert!(!touch(&mut pages, output, 6, false, 5));
        assert_eq!(parts(&pages, output), (true, true, true));
        assert!(touch(&mut pages, output, 7, true, 5));
        let who = |entry: Option<Entry>| entry.map(|entry| entry.stamp.id);
        let (write, read) = pages.last(input);
        assert_eq!((who(write), who(read)), (Some(4), None));
        assert_eq!(pages.last(input + 1), (None, None));
        assert_eq!(pages.last(9 * PAGE), (None, None));
    }
}
