//! Operands: what matrix instructions read, apart from the stage that it lies in.
//!
//! A stage that one product reads is handed to it: `acc.mma(&mut t, stage)`, `product.mma_async(&mut wg, stage)`. Here is the other way. A
//! stage is [opened](crate::stages::Slot::open) to the instructions that drain its ring, and stays open while any number of them, of any number of
//! products, read it. [`operand`](crate::stages::Slot::operand) is a view of its tile, which
//! [`Acc::mma_of`](crate::accumulator::Acc::mma_of), [`PairAcc::mma_of`](crate::pair_accumulator::PairAcc::mma_of) and
//! [`Product::mma_async_of`](crate::wgmma::Product::mma_async_of) take together with one of another stage, of another ring. So a tile that is
//! loaded once, and read by many products, is a stage that is not handed back yet.
//!
//! A view is of a tile, or of a part of it:
//!
//! | view | rows (M of A, N of B) | K |
//! |---|---|---|
//! | `stage.operand()` of a [`Tile<E, ROWS, COLS>`](crate::tile::Tile) | `ROWS` | `COLS` |
//! | `….transposed()`, of bf16 or f16 | `COLS` | `ROWS` |
//! | `….rows::<FIRST, N>()` | `N` of them, from `FIRST` on | as before |
//! | `stage.operand()` of [`TensorStages<N, E, K>`](crate::tensor_stages::TensorStages), as A | 128 | `K` |
//!
//! A tile that is read transposed stays as its copies brought it: V of attention, whose rows are K of the product by P.
//!
//! # Why it is ordered
//! A view borrows the open stage for the issue alone, though its instructions read on behind it. It need not live longer: an open stage
//! goes back by a commit of the thread that issued, or behind a wait of the warpgroup that did, and both cover everything that was
//! issued before (rules D6, E3, D16; I18, I19). No soundness rests on a destructor: a stage that is forgotten stays open.
//!
//! ```
//! use baton::global::Store;
//! use baton::prelude::*;
//!
//! type A = Tile<bf16, 128, 64>;
//! type B = Tile<bf16, 64, 64>;
//! type C = Tile<f32, 128, 64>;
//!
//! baton::shared! {
//!     pub struct Smem in smem {
//!         a: Stages<1, A, ByBulk, ByMma>,
//!         b: Stages<3, B, ByBulk, ByMma>,
//!         acc: Accs<2, 128, 64>,
//!         c: Staging<C>,
//!     }
//! }
//!
//! /// `tiles` tiles of C in one row: A is loaded once.
//! #[baton::kernel(threads = 192)]
//! fn row(
//!     cta: Cta<'_, Smem, 192>,
//!     a: TensorMap<A>,
//!     b: TensorMap<B>,
//!     c: TensorMap<C, Store>,
//!     tiles: u32,
//! ) -> Exit<'_> {
//!     let (cta, smem::Parts { a: left, b: right, acc, c: staging, .. }) = cta.claim();
//!     let (mut load_a, mut left) = left.split();
//!     let (mut load_b, mut right) = right.split();
//!     let (mut sums, mut results, tensor) = acc.split();
//!     let (mut joined, ((stored, drained), (a_loaded, b_loaded), issued)) = cta.roles((
//!         warpgroup(move |mut wg| {
//!             let mut staging = staging.open(&mut wg);
//!             for tile in 0..tiles as i32 {
//!                 let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
//!                 let (acc, values) = acc.ld::<64>(&mut wg, 0).wait_ld(&mut wg);
//!                 acc.fence_before_thread_sync(&mut wg).release(&mut wg);
//!                 staging.put(&mut wg, 0, values);
//!                 let stored = staging.fence_proxy_async(&mut wg).store(&mut wg, c.at(0, 64 * tile));
//!                 staging = stored.wait_group_read(&mut wg);
//!             }
//!             (staging.finish(&mut wg), results.finish(&mut wg))
//!         }),
//!         warp(move |w| {
//!             w.elect(move |mut t| {
//!                 load_a.acquire(&mut t).load(&mut t, a.at(0, 0));
//!                 for tile in 0..tiles as i32 {
//!                     load_b.acquire(&mut t).load(&mut t, b.at(64 * tile, 0));
//!                 }
//!                 (load_a.finish(&mut t), load_b.finish(&mut t))
//!             })
//!         }),
//!         warp(move |w| {
//!             w.elect(move |mut t| {
//!                 let a = left.wait(&mut t).open(&mut t);
//!                 for _ in 0..tiles {
//!                     let b = right.wait(&mut t).open(&mut t);
//!                     let mut acc = sums.acquire(&mut t);
//!                     acc.mma_of(&mut t, a.operand(), b.operand());
//!                     acc.commit(&mut t);
//!                     b.release_by_commit(&mut t);
//!                 }
//!                 a.release_by_commit(&mut t);
//!                 sums.finish(&mut t)
//!             })
//!         }),
//!     ));
//!     let closed = tensor.dealloc(&mut joined, issued, drained);
//!     joined.exit((a_loaded, b_loaded, closed, stored))
//! }
//! # fn main() {}
//! ```

mod matrix;

use core::marker::PhantomData;

use crate::path::{ByMma, ByPairMma, ByWgmma, ReadByMma, ReadByWgmma, State};
use crate::stages::Drain;
use crate::tile::{BulkTile, StageData, Tile, ToAll};
use crate::token::{Marks, StaysWithItsThreads};

pub(crate) use matrix::steps_of;
pub use matrix::{HasRows, Matrix, Rows, Transposed, Transposes};

/// A way to drain a ring that reads operands: matrix instructions.
#[diagnostic::on_unimplemented(
    message = "no matrix instructions read the stages of this ring: it is drained `{Self}`",
    label = "nothing to open it to",
    note = "rules D16 and D6: what reads a stage decides on which barrier hands it back, and on what it waits for, so the ring says it in the \
            layout (PTX ISA 9.7.15, 9.7.16)",
    note = "declare the ring as `Stages<N, Data, Fill, ByMma>`, `ByPairMma` or `ByWgmma`; threads read a stage with `get`, without opening it"
)]
pub trait ReadsOperands: Drain {
    /// The state of a stage that is open to them.
    type Open: State;
}
#[diagnostic::do_not_recommend]
impl ReadsOperands for ByMma {
    type Open = ReadByMma;
}
#[diagnostic::do_not_recommend]
impl ReadsOperands for ByPairMma {
    type Open = ReadByMma;
}
#[diagnostic::do_not_recommend]
impl ReadsOperands for ByWgmma {
    type Open = ReadByWgmma;
}

/// What a stage holds that is one matrix.
#[diagnostic::on_unimplemented(
    message = "a stage of `{Self}` is not one matrix",
    label = "not one tile",
    note = "rule D14: a descriptor names one tile of rows in the swizzle of its copies (PTX ISA 9.7.15.5, 9.7.16.4)",
    note = "of a stage of two tiles `.operands()` gives both; a `Linear` run is reached by threads alone: make it a `Tile`"
)]
pub trait OneTile: StageData {
    /// The matrix.
    type Tile;
}
#[diagnostic::do_not_recommend]
impl<E, const ROWS: usize, const COLS: usize> OneTile for Tile<E, ROWS, COLS>
where
    Self: BulkTile + StageData,
{
    type Tile = Self;
}
#[diagnostic::do_not_recommend]
impl<T: BulkTile + StageData, const CTAS: u32> OneTile for ToAll<T, CTAS> {
    type Tile = T;
}

/// What a stage holds that is two matrices.
#[diagnostic::on_unimplemented(
    message = "a stage of `{Self}` is not two matrices",
    label = "not two tiles",
    note = "rule D14: a descriptor names one tile of rows in the swizzle of its copies (PTX ISA 9.7.15.5, 9.7.16.4)",
    note = "of a stage of one tile `.operand()` gives it; make a stage of two `(Tile<bf16, M, K>, Tile<bf16, N, K>)`"
)]
pub trait TwoTiles: StageData {
    /// The first matrix.
    type First;
    /// The second.
    type Second;
    /// Where it begins.
    #[doc(hidden)]
    const SECOND: u32;
}
#[diagnostic::do_not_recommend]
impl<A: OneTile, B: OneTile> TwoTiles for (A, B) {
    type First = A::Tile;
    type Second = B::Tile;
    const SECOND: u32 = A::BYTES.next_multiple_of(B::ALIGN);
}

/// A view of the matrix `M` in a stage that the set `S` holds, open to the instructions `By`: for one call that issues them.
#[must_use = "a view does nothing by itself: pass it to `mma_of` or `mma_async_of`"]
pub struct Operand<'a, M, S, By> {
    /// An address of shared memory, or of tensor memory where `M` lies there.
    at: u32,
    stage: PhantomData<&'a ()>,
    types: Marks<(M, S, By)>,
    stays: StaysWithItsThreads,
}

impl<'a, M, S, By> Operand<'a, M, S, By> {
    #[inline(always)]
    pub(crate) fn new(at: u32) -> Self {
        Operand { at, stage: PhantomData, types: PhantomData, stays: PhantomData }
    }

    /// Where the matrix begins.
    #[inline(always)]
    pub(crate) fn at(&self) -> u32 {
        self.at
    }

    /// The matrix with rows and columns exchanged: those of the tile are K of the product. The tile lies as it is, and has as many columns as
    /// one likes.
    ///
    /// # PTX
    /// The bit of the instruction descriptor, or the last immediates of `wgmma.mma_async`, that say M- or N-major (ISA 9.7.16.4.2,
    /// 9.7.15.5.2); from one panel of 64 columns to the next the leading offset of the matrix descriptor.
    #[inline(always)]
    pub fn transposed(
        self, // D16: a view is of one call; take another from the open stage with `operand`
    ) -> Operand<'a, Transposed<M>, S, By>
    where
        M: Transposes,
    {
        Operand::new(self.at)
    }

    /// `N` of the rows, from `FIRST` on: so sets that drain one ring multiply different rows of one tile.
    #[inline(always)]
    pub fn rows<const FIRST: usize, const N: usize>(
        self, // D16: a view is of one call; take another from the open stage with `operand`
    ) -> Operand<'a, Rows<M, FIRST, N>, S, By>
    where
        M: HasRows,
    {
        Operand::new(self.at + const { Rows::<M, FIRST, N>::OFFSET })
    }
}
