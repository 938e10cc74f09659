//! Cells in blocks. Copies and products touch rows and tiles, in pieces of 16 bytes where a swizzle parts them, so most
//! neighbours are in one state: a block whose cells are all alike is held by its first cell, until one of them differs.

use std::ops::Range;

/// Cells of a block: 16 bytes.
const BLOCK: usize = 4;

#[derive(Debug, Default)]
pub(in crate::detect) struct Blocks<T> {
    cells: Box<[T]>,
    /// For each block, whether its first cell stands for all; the others then hold what they held before.
    alike: Box<[bool]>,
}

impl<T: Copy + Default + PartialEq> Blocks<T> {
    /// At least so many cells.
    pub fn new(cells: usize) -> Self {
        let blocks = cells.div_ceil(BLOCK);
        Blocks {
            cells: vec![T::default(); blocks * BLOCK].into(),
            alike: vec![true; blocks].into(),
        }
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    #[inline(always)]
    pub fn get(&self, at: usize) -> T {
        self.cells[if self.alike[at / BLOCK] { at / BLOCK * BLOCK } else { at }]
    }

    /// One cell, to be changed by itself.
    #[inline(always)]
    pub fn one(&mut self, at: usize) -> &mut T {
        if self.alike[at / BLOCK] {
            self.part(at / BLOCK);
        }
        &mut self.cells[at]
    }

    #[inline(always)]
    pub fn set(&mut self, at: usize, value: T) {
        if self.alike[at / BLOCK] {
            if self.cells[at / BLOCK * BLOCK] == value {
                return;
            }
            self.part(at / BLOCK);
        }
        self.cells[at] = value;
    }

    /// Gives each cell of a block its own.
    #[cold]
    fn part(&mut self, block: usize) {
        let first = block * BLOCK;
        let value = self.cells[first];
        self.cells[first..first + BLOCK].fill(value);
        self.alike[block] = false;
    }

    /// How many from the first of a run on are this.
    pub fn alike(&self, run: Range<usize>, value: T) -> usize {
        let mut at = run.start;
        while at < run.end {
            let block = at / BLOCK;
            let end = run.end.min((block + 1) * BLOCK);
            let same = match self.alike[block] {
                true if self.cells[block * BLOCK] == value => end - at,
                true => 0,
                false => self.cells[at..end].iter().take_while(|cell| **cell == value).count(),
            };
            at += same;
            if at < end {
                break;
            }
        }
        at - run.start
    }

    /// Makes all of a run this.
    pub fn fill(&mut self, run: Range<usize>, value: T) {
        let mut at = run.start;
        while at < run.end {
            let block = at / BLOCK;
            let end = run.end.min((block + 1) * BLOCK);
            if end - at == BLOCK {
                self.cells[at] = value;
                self.alike[block] = true;
            } else if !(self.alike[block] && self.cells[block * BLOCK] == value) {
                if self.alike[block] {
                    self.part(block);
                }
                self.cells[at..end].fill(value);
            }
            at = end;
        }
    }

    /// Every cell, one for all of a block that is alike.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let blocks = self.cells.chunks_mut(BLOCK).zip(&self.alike);
        blocks.flat_map(|(cells, alike)| {
            let count = if *alike { 1 } else { cells.len() };
            cells[..count].iter_mut()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_cells_would() {
        let mut blocks = Blocks::new(96);
        let mut cells = vec![0u32; 96];
        let runs = [0..96, 32..64, 5..70, 31..33, 64..96, 0..32, 7..8, 0..96, 40..41];
        for (value, run) in runs.into_iter().enumerate() {
            let value = value as u32 % 4;
            blocks.fill(run.clone(), value);
            cells[run.clone()].fill(value);
            if value == 3 {
                *blocks.one(run.start) = 9;
                blocks.set(run.end - 1, 8);
                cells[run.start] = 9;
                cells[run.end - 1] = 8;
            }
            let held: Vec<u32> = (0..blocks.len()).map(|at| blocks.get(at)).collect();
            assert_eq!(held, cells);
            for from in [0, 5, 32, 63, 95] {
                let first = cells[from];
                let count = cells[from..].iter().take_while(|cell| **cell == first).count();
                assert_eq!(blocks.alike(from..96, first), count, "{value} from {from}");
                assert_eq!(blocks.alike(from..96, 77), 0);
            }
            let all: Vec<u32> = blocks.each_mut().map(|cell| *cell).collect();
            assert!(cells.iter().all(|cell| all.contains(cell)));
            assert!(all.iter().all(|cell| cells.contains(cell)), "none is left behind");
        }
    }
}
