//! The order in which the tiles of a matrix are visited, so that what is loaded twice is in L2 still.
//!
//! A launch computes many tiles at a time. If they are one row of tiles, they load one row of A and all of B; if they are a block,
//! they load less in all. [`grouped`] goes down `group` rows of tiles before it goes on to the next column, so that tiles that are
//! neighbours in time are a block.

use core::num::NonZeroU32;

/// The tiles with the numbers `first`, `first` + `step`, … of `rows` × `columns` tiles, counted in groups of `group` rows, and within a
/// group column by column: each as its row and column.
///
/// # Panics
/// If `step` or `group` is 0.
///
/// ```
/// use baton::raster::grouped;
///
/// // Three rows of two tiles, in groups of two rows: one block of four, then the last row.
/// let all: Vec<_> = grouped(3, 2, 2, 0, 1).collect();
/// assert_eq!(all, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]);
/// ```
#[inline(always)]
pub fn grouped(rows: u32, columns: u32, group: u32, first: u32, step: u32) -> Grouped {
    assert!(step != 0 && group != 0, "tiles go on by a step, in groups");
    Grouped { next: first, step, rows, columns, group }
}

/// What is not zero where there are tiles: so that dividing by it asks no more.
#[inline(always)]
fn of_tiles(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

/// What [`grouped`] returns.
#[derive(Clone, Copy, Debug)]
pub struct Grouped {
    next: u32,
    step: u32,
    rows: u32,
    columns: u32,
    group: u32,
}

impl Iterator for Grouped {
    /// Row and column, in tiles.
    type Item = (u32, u32);

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, u32)> {
        let number = self.next;
        if number >= self.rows * self.columns {
            return None;
        }
        self.next = number.saturating_add(self.step);
        let tiles = of_tiles(self.group * self.columns);
        let (first, place) = (number / tiles * self.group, number % tiles);
        // The last group may have fewer rows.
        let height = of_tiles(self.group.min(self.rows - first));
        Some((first + place % height, place / height))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::grouped;

    #[test]
    fn every_tile_is_visited_once_by_someone() {
        for (rows, columns, group, step) in
            [(1, 1, 1, 1), (7, 5, 3, 4), (8, 3, 4, 2), (5, 9, 16, 7)]
        {
            let mut seen = vec![0; (rows * columns) as usize];
            for first in 0..step {
                for (row, column) in grouped(rows, columns, group, first, step) {
                    seen[(row * columns + column) as usize] += 1;
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{rows} x {columns}: {seen:?}");
        }
    }

    #[test]
    fn neighbours_in_time_are_a_block() {
        let first: Vec<_> = grouped(8, 8, 4, 0, 1).take(8).collect();
        assert!(first.iter().all(|&(row, column)| row < 4 && column < 2), "{first:?}");
    }

    #[test]
    fn no_tiles_are_none() {
        assert_eq!(grouped(0, 5, 2, 0, 1).next(), None);
        assert_eq!(grouped(5, 5, 2, 25, 1).next(), None);
    }
}
