//! Rings of operands in tensor memory: a warpgroup stores them, matrix instructions read them as A.
//!
//! A field `p: TensorStages<2, bf16, 64>` of a layout is a ring of two matrices of 128 × 64, a row in each lane of tensor memory. What a
//! warpgroup has in registers, the probabilities of attention for instance, becomes an operand without a way through shared memory. The
//! warpgroup holds the producing end, and the thread that issues `tcgen05.mma` the consuming one:
//!
//! | the warpgroup | the thread |
//! |---|---|
//! | `acquire`, `st`, `wait_st`, `fence_before_thread_sync`, `publish`, and `finish` | `wait`, `open`, `operand` for `acc.mma_of`, `release_by_commit`, and `finish` |
//!
//! A layout may have several, and [accumulators](crate::accumulator) of several shapes beside them: the claim allocates tensor memory for all
//! fields at once.
//!
//! # Why it is ordered
//! `tcgen05.st` and `tcgen05.mma` are asynchronous, and no pipelined pair (ISA 9.7.16.6.2). `wait::st` ends the stores of a warp (D4),
//! `fence::before_thread_sync` orders them before the set's barrier and the arrival on the full barrier (D2), and the thread's wait has
//! `fence::after_thread_sync` in it (D1). The matrix goes back by a commit of that thread, which covers every instruction that read it (D6, D16),
//! and the warpgroup's wait has the other fence in it.
//!
//! ```
//! use baton::prelude::*;
//! use baton::global::TheWarpgroup;
//! use baton::tensor_stages::TensorStages;
//!
//! type B = Tile<bf16, 64, 128>;
//!
//! baton::shared! {
//!     pub struct Smem in smem {
//!         p: TensorStages<1, bf16, 64>,
//!         b: Stages<1, B, ByBulk, ByMma>,
//!         acc: Accs<1, 128, 128>,
//!     }
//! }
//!
//! /// A column of the product of a matrix that the threads make by one that is read transposed.
//! #[baton::kernel(threads = 192)]
//! fn product(cta: Cta<'_, Smem, 192>, b: TensorMap<B>, output: GlobalPtr<f32, TheWarpgroup<0>>) -> Exit<'_> {
//!     let (cta, smem::Parts { p, b: right, acc, .. }) = cta.claim();
//!     let (mut made, mut left, p_memory) = p.split();
//!     let (mut loads, mut right) = right.split();
//!     let (mut sums, mut results, acc_memory) = acc.split();
//!     let (mut joined, ((p_stored, drained), loaded, (p_issued, issued))) = cta.roles((
//!         warpgroup(move |mut wg| {
//!             let row = wg.rank();
//!             let p = made.acquire(&mut wg);
//!             let p = p.st::<32>(&mut wg, 0, |k| bf16::from_f32((row + k) as f32)).wait_st(&mut wg);
//!             p.fence_before_thread_sync(&mut wg).publish(&mut wg);
//!             let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
//!             let (acc, [value]) = acc.ld::<1>(&mut wg, 0).wait_ld(&mut wg);
//!             acc.fence_before_thread_sync(&mut wg).release(&mut wg);
//!             output.partition(&wg).put(0, value);
//!             (made.finish(&mut wg), results.finish(&mut wg))
//!         }),
//!         warp(move |w| {
//!             w.elect(move |mut t| {
//!                 loads.acquire(&mut t).load(&mut t, b.at(0, 0));
//!                 loads.finish(&mut t)
//!             })
//!         }),
//!         warp(move |w| {
//!             w.elect(move |mut t| {
//!                 let p = left.wait(&mut t).open(&mut t);
//!                 let b = right.wait(&mut t).open(&mut t);
//!                 let mut acc = sums.acquire(&mut t);
//!                 acc.mma_of(&mut t, p.operand(), b.operand().transposed());
//!                 acc.commit(&mut t);
//!                 p.release_by_commit(&mut t);
//!                 b.release_by_commit(&mut t);
//!                 (left.finish(&mut t), sums.finish(&mut t))
//!             })
//!         }),
//!     ));
//!     let p = p_memory.dealloc(&mut joined, p_issued, p_stored);
//!     let acc = acc_memory.dealloc(&mut joined, issued, drained);
//!     joined.exit((p, loaded, acc))
//! }
//! # fn main() {}
//! ```

mod ends;
mod slot;

use core::marker::PhantomData;

use crate::accumulator::{Deallocated, Draining, Issuing, MmaElement, Tensor};
use crate::layout::Field;
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::require;
use crate::token::{Brand, Finished, Joined, Marks, Set};

pub use ends::{TensorConsumer, TensorProducer};
pub use slot::TensorSlot;

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// A ring of `N` matrices of 128 × `K` of `E` in tensor memory: a field of a layout.
pub struct TensorStages<const N: u32, E, const K: usize>(PhantomData<E>);

impl<const N: u32, E: MmaElement, const K: usize> TensorStages<N, E, K> {
    const FULL: u32 = 0;
    const EMPTY: u32 = N * MBARRIER;
    const DRAIN: u32 = 2 * N * MBARRIER;
    /// Columns of one, each two elements.
    const EACH: u32 = {
        require(
            K >= 16 && K % 16 == 0 && K <= 1024,
            "rule D14: an operand in tensor memory has 16 columns of K for each instruction, and a column of tensor memory two of them: round `K`",
        );
        K as u32 / 2
    };
}

// SAFETY: (1) `init` initialises each barrier with the one arrival a phase that its side makes (I11); (2) barriers within BYTES, matrices
// within COLUMNS (I7); (3) `Closed` comes from `dealloc`, which takes the proofs of both ends (I21).
unsafe impl<const N: u32, E: MmaElement, const K: usize> Field for TensorStages<N, E, K> {
    const BYTES: u32 = (2 * N + 1) * MBARRIER;
    const ALIGN: u32 = MBARRIER;
    const COLUMNS: u32 = {
        require(
            N >= 1 && N <= 32,
            "rule D9: a ring of operands in tensor memory has 1 to 32 of them: choose `N` so",
        );
        N * Self::EACH
    };
    type Part<'k, Tag> = TensorPart<'k, Tag, N, E, K>;
    type Closed<'k, Tag> = Deallocated<'k, Tag>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut at = 0;
        while at < Self::BYTES {
            // SAFETY: the barrier's place (I7), before anyone uses it (I6).
            unsafe { ptx::mbarrier::init(base.offset(at), 1) };
            at += MBARRIER;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, tensor: u32) -> Self::Part<'k, Tag> {
        TensorPart { base, tensor, brand: PhantomData, field: PhantomData }
    }
}

/// A ring of operands in tensor memory that has been claimed and not yet split into its ends.
pub struct TensorPart<'k, Tag, const N: u32, E, const K: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    brand: Brand<'k>,
    field: Marks<(Tag, E)>,
}

/// What [`TensorPart::split`] gives: the two ends and the allocation.
pub type TensorEnds<'k, Tag, P, C, const N: u32, E, const K: usize> =
    (TensorProducer<'k, Tag, P, N, E, K>, TensorConsumer<'k, Tag, C, N, E, K>, Tensor<'k, Tag>);

impl<'k, Tag, const N: u32, E: MmaElement, const K: usize> TensorPart<'k, Tag, N, E, K> {
    /// The two ends, and the allocation that outlives them.
    #[inline(always)]
    pub fn split<P: Set, C: Set>(
        self, // C2: the ring is split once, so each end exists once for each thread; hand the ends to their roles
    ) -> TensorEnds<'k, Tag, P, C, N, E, K>
    where
        Tag: crate::layout::Tag,
    {
        ptx::mark::end::<Tag, P, 0>();
        ptx::mark::end::<Tag, C, 1>();
        (
            // SAFETY: the field's own, and the only one: the part is consumed (I8, I9).
            unsafe { TensorProducer::of(self.base, self.tensor) },
            // SAFETY: the field's own, and the only one, as above (I8, I9).
            unsafe { TensorConsumer::of(self.base, self.tensor) },
            Tensor::new(),
        )
    }

    /// Gives back what nobody used: its ends do not exist. Otherwise see [`Tensor::dealloc`].
    #[inline(always)]
    pub fn dealloc<L, const THREADS: u32>(
        self, // D8: tensor memory is deallocated once, by the joined CTA; pass the proof to the exit
        joined: &mut Joined<'k, L, THREADS>,
    ) -> Deallocated<'k, Tag>
    where
        Tag: crate::layout::Tag,
    {
        let (_, _, tensor) = self.split::<Joined<'k, L, THREADS>, Joined<'k, L, THREADS>>();
        // SAFETY: nothing was begun through an end that was never handed out (I9, I21).
        let (issued, stored): (Finished<Issuing<Tag>>, Finished<Draining<Tag>>) =
            unsafe { (Finished::assume(), Finished::assume()) };
        tensor.dealloc(joined, issued, stored)
    }
}
