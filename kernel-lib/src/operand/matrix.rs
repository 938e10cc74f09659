//! How a matrix lies in shared memory, as the descriptors of matrix instructions say it.

use core::marker::PhantomData;

use crate::float::{bf16, f16};
use crate::require;
use crate::tile::{BulkTile, Element, PANEL_ROW_BYTES, Tile};

/// Bytes of K that one instruction takes from each row of a K-major matrix: 16 elements of two bytes, 8 of four, 32 of one.
const K_BYTES: u32 = 32;

/// Rows that one instruction takes of a tile that is read transposed: K of elements of two bytes.
const MN_ROWS: usize = 16;

/// `N` rows of the matrix `M`, from `FIRST` on.
pub struct Rows<M, const FIRST: usize, const N: usize>(PhantomData<M>);

/// The matrix `M` with rows and columns exchanged, as it lies: M- or N-major.
pub struct Transposed<M>(PhantomData<M>);

/// Seals how matrices lie.
mod sealed {
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not one of the library's matrices",
        note = "rule D14: where the elements of an operand lie is what the hardware's descriptors say, and the library alone says that they do",
        note = "take the operand of a stage of `Tile`s, or rows of it"
    )]
    pub trait Sealed {}
}
impl<E, const ROWS: usize, const COLS: usize> sealed::Sealed for Tile<E, ROWS, COLS> {}
impl<M, const FIRST: usize, const N: usize> sealed::Sealed for Rows<M, FIRST, N> {}
impl<M> sealed::Sealed for Transposed<M> {}

/// A matrix of `ROWS` rows (M of A, N of B) and `K` columns in the 128-byte swizzle.
///
/// # Safety
/// An instruction for step `step`, less than `K` elements in steps of 32 bytes, reads bytes of the matrix alone, if its descriptor says 1024
/// bytes from one group of eight rows of a panel to the next and [`PANEL`](Matrix::PANEL) from one panel to the next, and begins
/// [`step`](Matrix::step) bytes behind the matrix.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of {ROWS} rows and {K} columns",
    label = "shapes do not fit",
    note = "rule D14: A has a row for each row of the product, B one for each of its columns, and both have one K (PTX ISA 9.7.15.2, \
            9.7.16.2.1)",
    note = "make the ring's tile `Tile<_, {ROWS}, K>` with one K for both, or take a part of it: `.rows::<FIRST, {ROWS}>()`; of a `Tile<_, K, \
            {ROWS}>` take `.transposed()`"
)]
pub unsafe trait Matrix<const ROWS: usize, const K: usize>: sealed::Sealed {
    /// Its elements.
    type Element: Element;
    /// Whether the elements of a column lie beside each other, and not those of a row: M-major for A, N-major for B.
    const MN_MAJOR: bool = false;
    /// Where an instruction reads several panels, bytes from one to the next; else 0.
    #[doc(hidden)]
    const PANEL: u32 = 0;
    /// Where instruction `step` begins to read, in bytes behind the matrix.
    #[doc(hidden)]
    fn step(step: u32) -> u32;
}

/// A matrix of which one may take some rows.
#[diagnostic::on_unimplemented(
    message = "rows are not taken of `{Self}`",
    label = "not a whole tile",
    note = "rule D14: rows of an operand are some of those of its tile, taken once",
    note = "take them from the tile that `.operand()` gives: `.rows::<FIRST, N>()`, with `FIRST` counted from the tile's first row"
)]
pub trait HasRows: sealed::Sealed {
    /// How many it has.
    #[doc(hidden)]
    const ROWS: usize;
    /// The rows on whose multiples a part begins.
    #[doc(hidden)]
    const GROUP: usize;
    /// Bytes from one such group to the next.
    #[doc(hidden)]
    const GROUP_BYTES: usize;
}

impl<E: Element, const ROWS: usize, const COLS: usize> HasRows for Tile<E, ROWS, COLS> {
    const ROWS: usize = <Self as BulkTile>::ROWS as usize;
    const GROUP: usize = 8;
    const GROUP_BYTES: usize = 8 * PANEL_ROW_BYTES;
}

impl<E: Element, const ROWS: usize, const COLS: usize> HasRows for Transposed<Tile<E, ROWS, COLS>> {
    const ROWS: usize = <Tile<E, ROWS, COLS> as BulkTile>::COLS as usize;
    const GROUP: usize = <Tile<E, ROWS, COLS> as BulkTile>::PANEL_COLS as usize;
    const GROUP_BYTES: usize = ROWS * PANEL_ROW_BYTES;
}

/// A matrix that instructions read transposed.
#[diagnostic::on_unimplemented(
    message = "matrix instructions do not read `{Self}` transposed",
    label = "not transposed",
    note = "rule D14: elements of two bytes, bf16 and f16, alone are read M- or N-major here (PTX ISA 9.7.15.5, 9.7.16.4.2)",
    note = "take a whole tile of bf16 or f16, `stage.operand().transposed()`, and its rows behind that; store other types K-major"
)]
pub trait Transposes: sealed::Sealed {}
#[diagnostic::do_not_recommend]
impl<const ROWS: usize, const COLS: usize> Transposes for Tile<bf16, ROWS, COLS> {}
#[diagnostic::do_not_recommend]
impl<const ROWS: usize, const COLS: usize> Transposes for Tile<f16, ROWS, COLS> {}

impl<M: HasRows, const FIRST: usize, const N: usize> Rows<M, FIRST, N> {
    /// Where they begin, in bytes behind the matrix.
    pub(super) const OFFSET: u32 = {
        require(
            N > 0 && FIRST <= M::ROWS && N <= M::ROWS - FIRST,
            "rule D14: rows of an operand are rows of its tile: write `rows::<FIRST, N>()` with `FIRST + N` at most as many as it has",
        );
        require(
            FIRST % M::GROUP == 0,
            "rule D14: rows of an operand begin with a group of the swizzle, eight rows of a tile, or of one that is transposed the 64 columns of \
             a panel: round `FIRST`",
        );
        (FIRST / M::GROUP * M::GROUP_BYTES) as u32
    };
}

/// Step `step` of K in the panels of a K-major tile of `rows` rows.
#[inline(always)]
fn k_major(rows: usize, step: u32) -> u32 {
    let steps = PANEL_ROW_BYTES as u32 / K_BYTES;
    step / steps * (rows * PANEL_ROW_BYTES) as u32 + step % steps * K_BYTES
}

/// Step `step` of K in a tile of `rows` rows that is read transposed: 16 rows, in every panel.
#[inline(always)]
fn mn_major<const ROWS: usize>(step: u32) -> u32 {
    const {
        require(
            ROWS % MN_ROWS == 0,
            "rule D14: an instruction takes 16 rows of a tile that is read transposed: round its rows",
        )
    };
    step * (MN_ROWS * PANEL_ROW_BYTES) as u32
}

/// Instructions for `columns` columns of K.
pub(crate) const fn steps_of<E>(columns: usize) -> u32 {
    (columns * size_of::<E>() / K_BYTES as usize) as u32
}

// SAFETY: 32 bytes of each row, in the panel in which they lie.
unsafe impl<E: Element, const ROWS: usize, const K: usize> Matrix<ROWS, K> for Tile<E, ROWS, K> {
    type Element = E;
    #[inline(always)]
    fn step(step: u32) -> u32 {
        k_major(ROWS, step)
    }
}
// SAFETY: as of the tile; `OFFSET`, without which there is no such view, says that it has the rows.
unsafe impl<E: Element, const R: usize, const K: usize, const FIRST: usize, const N: usize>
    Matrix<N, K> for Rows<Tile<E, R, K>, FIRST, N>
{
    type Element = E;
    #[inline(always)]
    fn step(step: u32) -> u32 {
        k_major(R, step)
    }
}
// SAFETY: 16 rows of as many panels as the operand has rows for.
unsafe impl<E: Element, const K: usize, const COLS: usize> Matrix<COLS, K>
    for Transposed<Tile<E, K, COLS>>
{
    type Element = E;
    const MN_MAJOR: bool = true;
    const PANEL: u32 = (K * PANEL_ROW_BYTES) as u32;
    #[inline(always)]
    fn step(step: u32) -> u32 {
        mn_major::<K>(step)
    }
}
// SAFETY: as above, from the panel on in which they begin.
unsafe impl<E: Element, const K: usize, const COLS: usize, const FIRST: usize, const N: usize>
    Matrix<N, K> for Rows<Transposed<Tile<E, K, COLS>>, FIRST, N>
{
    type Element = E;
    const MN_MAJOR: bool = true;
    const PANEL: u32 = (K * PANEL_ROW_BYTES) as u32;
    #[inline(always)]
    fn step(step: u32) -> u32 {
        mn_major::<K>(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_k_go_on_in_the_next_panel() {
        type T = Tile<bf16, 64, 128>;
        let at = |step| <T as Matrix<64, 128>>::step(step);
        assert_eq!([0, 1, 3, 4, 5].map(at), [0, 32, 96, 64 * 128, 64 * 128 + 32]);
        assert_eq!(steps_of::<bf16>(128), 8);
    }

    #[test]
    fn rows_are_those_of_the_whole_tile_in_each_panel() {
        type T = Rows<Tile<bf16, 128, 128>, 64, 32>;
        assert_eq!(T::OFFSET, 64 * 128);
        assert_eq!(<T as Matrix<32, 128>>::step(4), 128 * 128);
    }

    #[test]
    fn a_tile_that_is_read_transposed_has_its_columns_in_panels() {
        // 32 of K, 192 rows in three panels of 64.
        type T = Transposed<Tile<bf16, 32, 192>>;
        assert_eq!(<T as Matrix<192, 32>>::step(1), 16 * 128);
        assert_eq!(<T as Matrix<192, 32>>::PANEL, 32 * 128);
        type Part = Rows<T, 128, 64>;
        assert_eq!(Part::OFFSET, 2 * 32 * 128);
        assert_eq!(<Part as Matrix<64, 32>>::step(1), 16 * 128);
    }
}
