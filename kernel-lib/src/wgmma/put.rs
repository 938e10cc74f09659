//! A product, or some of its columns, into a staging buffer.
//!
//! A thread holds two neighbouring sums of two rows for each eight columns. Elements of two bytes are written by `stmatrix`: of a matrix
//! of 8 × 8 each lane holds two elements as one register, just as the product's sums lie, and each row is 16 bytes of the
//! swizzle, so that eight rows meet no conflict of banks. Elements of four bytes are written two at a time.

use super::{Product, Registers, Sums, WholeWarpgroup};
use crate::path::{SourceFree, Writable};
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::matrix::stmatrix;
use crate::require;
use crate::rounding::RoundsFrom;
use crate::shared_access::{write, write_two};
use crate::staging::StagingBuffer;
use crate::tile::{Element, Tile};
use crate::token::{SameSet, Set, WARP};

/// Rows of a product.
const ROWS: usize = 64;
/// Columns that are written at a time: four matrices of 8 × 8 for each warp.
const STEP: usize = 16;

impl<'k, Tag, E: Element, const N: usize, S: Set, State, const BUFFERS: u32>
    StagingBuffer<'k, Tag, Tile<E, 64, N>, S, State, BUFFERS>
{
    /// Writes a product into the buffer, of each sum what `change(row, column, sum)` makes of it: each thread the elements that it holds,
    /// which are no other thread's (rule A13). Values in f32 are [rounded](RoundsFrom) two at a time.
    ///
    /// # PTX
    /// Elements of two bytes: `stmatrix.sync.aligned.m8n8.x4.shared.b16` for each 16 columns, PTX 7.8, sm_90 (ISA 9.7.14.5.16); of four
    /// `st.shared.v2.b32` for each two.
    #[inline(always)]
    pub fn put_product<T, V: Sums, R, const L: usize>(
        &mut self,
        warpgroup: &mut T,
        product: &Product<[V; L], S>,
        change: impl FnMut(u32, u32, V::Element) -> R,
    ) where
        [V; L]: Registers,
        T: SameSet<S> + WholeWarpgroup,
        State: Writable + SourceFree,
        E: RoundsFrom<R>,
    {
        const {
            require(
                2 * L * V::COUNT == N,
                "rule D14: the staging buffer has the shape of the product, 64 × N: make it `Tile<_, 64, N>`, or write a part of the product \
                 with `put_columns`",
            )
        };
        self.put_columns::<0, T, V, R, L>(warpgroup, product, change);
    }

    /// As [`put_product`](Self::put_product), of a product that has more columns than the buffer: as many of them, from column `FIRST` on.
    /// The columns that `change` gets are the product's.
    #[inline(always)]
    pub fn put_columns<const FIRST: usize, T, V: Sums, R, const L: usize>(
        &mut self,
        warpgroup: &mut T,
        product: &Product<[V; L], S>,
        mut change: impl FnMut(u32, u32, V::Element) -> R,
    ) where
        [V; L]: Registers,
        T: SameSet<S> + WholeWarpgroup,
        State: Writable + SourceFree,
        E: RoundsFrom<R>,
    {
        const {
            require(
                FIRST % 8 == 0 && FIRST + N <= 2 * L * V::COUNT,
                "rule D14: the buffer is filled with the product's columns from `FIRST` on: write a multiple of 8, at most the product's \
                 columns less the buffer's",
            )
        };
        let (base, rank, values) = (self.base(), warpgroup.rank(), product.values());
        let (warp, lane) = (rank / WARP, rank % WARP);
        let (row, col) = (16 * warp + lane / 4, 2 * (lane % 4));
        // One step after the other in the code: a loop would index the registers, which then lie in memory.
        macro_rules! steps {
            ($($step:literal)*) => {$(
                if $step * STEP < N {
                    // Sums of 16 columns before this, two rows of a thread each.
                    let before = FIRST / 2 + 8 * $step;
                    let mut two = |i: usize, row: u32, column: u32| {
                        let at = [before + 2 * i, before + 2 * i + 1];
                        let [low, high] = at.map(|at| values[at / V::COUNT].get(at % V::COUNT));
                        E::round([change(row, column, low), change(row, column + 1, high)])
                    };
                    let column = (FIRST + $step * STEP) as u32 + col;
                    let pairs = [
                        two(0, row, column),
                        two(1, row + 8, column),
                        two(2, row, column + 8),
                        two(3, row + 8, column + 8),
                    ];
                    // SAFETY: the columns are inside the tile, and the elements this thread's own (I16), of a buffer that no copy reads
                    // (I14, I18); all threads of the warp are here, by the token (I1, I2).
                    unsafe { put_step::<E, N>(base, rank, $step * STEP as u32, pairs) };
                }
            )*};
        }
        steps! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 }
    }
}

/// Writes 16 columns of the 16 rows of each warp, from column `first` of the tile on: `pairs` are those of rows `r`, `r` + 8, `r` and `r` + 8, the
/// last two eight columns to the right.
///
/// # Safety
/// 1. The whole warp executes it, `rank` being the thread's in its warpgroup.
/// 2. The tile is at `base`, and nobody else touches those rows and columns without synchronisation between.
#[inline(always)]
unsafe fn put_step<E: Element, const N: usize>(
    base: Addr<SharedCta>,
    rank: u32,
    first: u32,
    pairs: [[E; 2]; 4],
) {
    let (warp, lane) = (rank / WARP, rank % WARP);
    let place = |row: u32, col: u32| Tile::<E, ROWS, N>::place(base, row, col);
    if size_of::<E>() == 2 {
        let registers =
            pairs.map(|[low, high]| low.to_word() as u32 | (high.to_word() as u32) << 16);
        // Lane `l` says where row `l` % 8 of matrix `l` / 8 goes: of the first two those of the upper and lower eight rows.
        let at = place(16 * warp + lane % 16, first + 8 * (lane / 16));
        // SAFETY: the caller's promise; a row of eight such elements is one 16-byte chunk of the swizzle.
        unsafe { stmatrix(at, registers) };
        return;
    }
    let (row, col) = (16 * warp + lane / 4, first + 2 * (lane % 4));
    let mut i = 0;
    while i < 4 {
        let (row, col) = (row + 8 * (i as u32 % 2), col + 8 * (i as u32 / 2));
        let [low, high] = pairs[i];
        // SAFETY: the caller's promise; two neighbours of four bytes from an even column on lie in one chunk.
        unsafe {
            if size_of::<E>() == 4 {
                write_two(place(row, col), [low.to_word() as u32, high.to_word() as u32]);
            } else {
                write(place(row, col), low);
                write(place(row, col + 1), high);
            }
        }
        i += 1;
    }
}
