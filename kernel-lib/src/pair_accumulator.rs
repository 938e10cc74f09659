//! Accumulators of a pair of CTAs: `tcgen05.mma.cta_group::2`, which multiplies what both have in shared memory.
//!
//! A field `acc: PairAccs<2, 256>` of a layout is a ring of two accumulators of 256 × 256 in the tensor memory of the two CTAs
//! of a pair, 128 rows in each. A stage of a ring that [`ByPairMma`] drains has, in each CTA, the CTA's 128 rows of A and its half
//! of the rows of B. The CTA that [leads](crate::token::Cta::pair_leader) issues the instructions, for both:
//!
//! | | the CTA that leads | the other |
//! |---|---|---|
//! | loads its part of a stage | `acquire`, `load` | `acquire`, `load` |
//! | issues | `acquire`, `stages.wait_for_both`, `mma`, `release_by_commit`, `commit`, and `finish` | `finish` |
//! | drains its part of an accumulator | `wait`, `ld`, `release` | `wait`, `ld`, `release` |
//!
//! # Why it is ordered
//! There is one hand-over for both CTAs in each direction, and nothing that could drift from it. The copies of both complete on the
//! leader's full barrier, whose phase its thread acquires before it issues; a commit arrives on the empty barriers of both. An
//! accumulator is handed on by a commit that arrives in both, and comes back by an arrival of each epilogue on the leader's empty barrier.
//! Waits and arrivals across CTAs are at the scope of the cluster (rules C7, C11) and relaxed: stages are acquired by fences of shared
//! memory alone, accumulators ordered by tcgen05's own (rules D1 to D3, D5), neither of which costs an instruction.
//!
//! Tensor memory goes back, and the CTAs exit, when the roles of both have ended (rule D13).

use core::marker::PhantomData;

use crate::accumulator::{
    AccConsumer, Accs, Deallocated, Draining, Issuing, MmaElement, MmaTimes, instruction, multiply,
    tiles,
};
use crate::cursor::Cursor;
use crate::dropped::{Accumulator, Hand};
use crate::layout::Field;
use crate::operand::{Matrix, Operand};
use crate::pair::{PairLeader, PeersHaveEnded, both, leads};
use crate::path::{ByPairMma, MmaCompleted, ReadByMma, ReadableByMma};
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::{
    Group2, commit_multicast, fence_after_thread_sync, fence_before_thread_sync,
};
use crate::ptx::{mark, mbarrier};
use crate::require;
use crate::scope::Cluster;
use crate::sem::Relaxed;
use crate::stages::{DrainsLike, HeldStage, Ring, Slot};
use crate::tile::{Tile, ToAll};
use crate::token::{
    Brand, Finished, Marks, ProofOf, SameSet, Set, SingleThread, StaysWithItsThreads,
};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;
/// Rows of an accumulator in each of the two CTAs.
const ROWS: usize = 128;

/// A ring of `N` accumulators of 256 rows and `COLS` columns of f32 in the tensor memory of each pair of the `CTAS` CTAs of a cluster: a
/// field of a layout.
pub struct PairAccs<const N: u32, const COLS: usize, const CTAS: u32 = 2>(());

// SAFETY: (1) each full barrier, and that of the end, expects the one commit of a phase that arrives in its CTA; each empty barrier,
// used in the CTA that leads, the epilogues of both (I11, I23); (2) barriers within BYTES, accumulators within COLUMNS (I7); (3)
// `Closed` comes from `dealloc`, which takes the proofs of both ends (I21).
unsafe impl<const N: u32, const COLS: usize, const CTAS: u32> Field for PairAccs<N, COLS, CTAS> {
    const BYTES: u32 = <Accs<N, ROWS, COLS> as Field>::BYTES;
    const ALIGN: u32 = MBARRIER;
    const COLUMNS: u32 = {
        require(
            COLS % 32 == 0,
            "rule D14: an accumulator of a pair has 256 rows and 32 to 256 columns in steps of 32: round the number of columns \
             (PTX ISA 9.7.16.2.1)",
        );
        <Accs<N, ROWS, COLS> as Field>::COLUMNS
    };
    const PAIR: bool = true;
    const CLUSTER: u32 = {
        require(
            CTAS >= 2 && CTAS <= 16 && CTAS % 2 == 0,
            "rule D10: the CTAs of a cluster are pairs, 2 to 16 of them, more than 8 only where the device allows it: write \
             `PairAccs<N, COLS, CTAS>` with the number of the kernel's `cluster = CTAS`",
        );
        CTAS
    };
    type Part<'k, Tag> = PairAccsPart<'k, Tag, N, COLS>;
    type Closed<'k, Tag> = Deallocated<'k, Tag>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let empty = Accs::<N, ROWS, COLS>::EMPTY;
        let mut at = 0;
        while at < Self::BYTES {
            let arrivals = if at >= empty && at < empty + N * MBARRIER { 2 } else { 1 };
            // SAFETY: the barrier's place (I7), before anyone uses it (I6).
            unsafe { mbarrier::init(base.offset(at), arrivals) };
            at += MBARRIER;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, tensor: u32) -> Self::Part<'k, Tag> {
        PairAccsPart { base, tensor, brand: PhantomData, field: PhantomData }
    }
}

/// Accumulators of a pair that have been claimed and not yet split into their ends.
pub struct PairAccsPart<'k, Tag, const N: u32, const COLS: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    brand: Brand<'k>,
    field: Marks<Tag>,
}

/// What [`PairAccsPart::split`] gives: the two ends and the allocation.
pub type PairEnds<'k, Tag, P, C, const N: u32, const COLS: usize> = (
    PairProducer<'k, Tag, P, N, COLS>,
    AccConsumer<'k, Tag, C, N, ROWS, COLS, Group2>,
    PairMemory<'k, Tag>,
);

impl<'k, Tag, const N: u32, const COLS: usize> PairAccsPart<'k, Tag, N, COLS> {
    /// The two ends, and the allocation that outlives them. The consuming end is that of a CTA alone.
    #[inline(always)]
    pub fn split<P: Set, C: Set>(
        self, // C2: the accumulators are split once, so each end exists once for each thread; hand the ends to their roles
    ) -> PairEnds<'k, Tag, P, C, N, COLS>
    where
        Tag: crate::layout::Tag,
    {
        mark::end::<Tag, P, 0>();
        mark::end::<Tag, C, 1>();
        (
            PairProducer {
                base: self.base,
                tensor: self.tensor,
                cursor: Cursor::start(),
                brand: PhantomData,
                field: PhantomData,
            },
            // SAFETY: the barriers begin with those of `Accs`, and the columns are the same (I7); the part is consumed (I9).
            unsafe { AccConsumer::of(self.base, self.tensor) },
            PairMemory { brand: PhantomData, field: PhantomData },
        )
    }
}

/// The allocation of tensor memory behind the accumulators of a pair.
#[must_use = "tensor memory must be deallocated before the kernel ends (rule D8)"]
pub struct PairMemory<'k, Tag> {
    brand: Brand<'k>,
    field: Marks<Tag>,
}

impl<'k, Tag> PairMemory<'k, Tag> {
    /// Gives the field's memory back: the exit deallocates that of all fields, in both CTAs; takes the proofs of both ends (rule D8).
    #[inline(always)]
    pub fn dealloc<J>(
        self, // D8: tensor memory is deallocated once, by the joined CTAs; pass the proof to the exit
        joined: &mut J,
        issued: impl ProofOf<'k, Issuing<Tag>>,
        drained: impl ProofOf<'k, Draining<Tag>>,
    ) -> Deallocated<'k, Tag>
    where
        J: PeersHaveEnded,
    {
        let _ = (joined, issued, drained);
        // SAFETY: both ends have ended (I21), in both CTAs (I22).
        unsafe { Deallocated::assume() }
    }
}

/// The producing end, in each CTA one thread; that of the CTA that leads issues for both.
pub struct PairProducer<'k, Tag, S, const N: u32, const COLS: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, S)>,
}

/// An accumulator of a pair while its producing end holds it; see [`accumulator::Acc`](crate::accumulator::Acc).
#[must_use = "an accumulator that is not handed on stops the ring"]
pub struct PairAcc<'e, 'k, Tag, S, const COLS: usize> {
    /// Barrier on which the accumulator is handed on, in both CTAs.
    next: Addr<SharedCta>,
    tensor: Addr<Tmem>,
    started: bool,
    hand: Hand<Accumulator>,
    end: PhantomData<&'e mut ()>,
    brand: Brand<'k>,
    field: Marks<(Tag, S)>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, S, const N: u32, const COLS: usize> PairProducer<'k, Tag, S, N, COLS> {
    /// Waits until the epilogues of both CTAs have drained the next accumulator, and takes it to accumulate into, from zero.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64` on the empty barrier, on which both epilogues arrive, then
    /// `tcgen05.fence::after_thread_sync`: the loads of the previous round stand before the matrix instructions of this one (ISA
    /// 9.7.16.6.4). PTX 8.6, sm_100a.
    #[inline(always)]
    pub fn acquire<T>(
        &mut self,
        thread: &mut T,
        leader: PairLeader<'k>,
    ) -> PairAcc<'_, 'k, Tag, S, COLS>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = (thread, leader);
        let index = self.cursor.index();
        let empty = self.base.offset(Accs::<N, ROWS, COLS>::EMPTY + index * MBARRIER);
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10). This CTA leads,
        // so that the epilogues of both arrive here, once for each round of the accumulator (I11).
        unsafe { mbarrier::wait_parity::<Relaxed, Cluster>(empty, self.cursor.emptied()) };
        fence_after_thread_sync();
        self.cursor.advance();
        PairAcc {
            next: self.base.offset(Accs::<N, ROWS, COLS>::FULL + index * MBARRIER),
            tensor: Addr::from_raw(self.tensor + index * COLS as u32),
            started: false,
            hand: Hand::new(),
            end: PhantomData,
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    /// Ends the producer: waits until every matrix instruction that works on this CTA's memory has completed (rules D5, D8).
    ///
    /// # PTX
    /// In the CTA that leads a `tcgen05.commit.cta_group::2` with `.multicast::cluster` on a barrier of each; in both a loop over
    /// `mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64`, and `tcgen05.fence::after_thread_sync` and `::before_thread_sync`, which
    /// pass the order on to the barrier that joins the CTAs.
    #[inline(always)]
    pub fn finish<T>(
        self, // D8: after this no matrix instruction is issued; return the proof from the role
        thread: &mut T,
    ) -> Finished<'k, Issuing<Tag>>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        let drain = self.base.offset(Accs::<N, ROWS, COLS>::DRAIN);
        // SAFETY: the barrier is used here alone, once (I9, I10), by the commit of the thread that issued everything (I19); the proof
        // says no more than what the wait observed (I21). The peer has not ended (I22).
        unsafe {
            if leads() {
                commit_multicast::<Group2>(drain.in_cluster(), both());
            }
            mbarrier::wait_parity::<Relaxed, Cluster>(drain, 0);
            fence_after_thread_sync();
            fence_before_thread_sync();
            Finished::assume()
        }
    }
}

impl<'k, Tag, S, const COLS: usize> PairAcc<'_, 'k, Tag, S, COLS> {
    /// Issues the matrix instructions that add the product of both CTAs' parts of the stage: A is 128 × K in each, B half of the `COLS` rows
    /// in each, all K-major.
    ///
    /// # PTX
    /// One `tcgen05.mma.cta_group::2.kind::f16` for each 16 columns of K, PTX 8.6, sm_100a (ISA 9.7.16.10.9). They are a pipelined pair
    /// with each other (same accumulator and shape, ISA 9.7.16.6.2).
    #[inline(always)]
    pub fn mma<T, O, RS>(
        &mut self,
        thread: &mut T,
        stage: O,
    ) -> Slot<'k, O::Tag, O::Ring, RS, ReadByMma>
    where
        O: HeldStage<'k, Set = RS, State: ReadableByMma>,
        T: SameSet<S> + SameSet<RS> + SingleThread,
        O::Ring: Ring<Drain: DrainsLike<ByPairMma>, Data: PairOperands<COLS>>,
        RS: Set,
    {
        let _ = thread;
        let stage = stage.slot();
        // SAFETY: one thread of the CTA that leads, which alone has accumulators and stages (I1, I9). It has acquired both parts of the
        // stage, whose contents are the async proxy's (I13, I17), and which go back by this thread's commit, or not at all (I18, I19);
        // the accumulator is this thread's, and the instructions into it are issued in order (I14).
        unsafe {
            <O::Ring as Ring>::Data::issue(self.tensor, stage.data(), self.started);
            self.started = true;
            stage.read_by_mma()
        }
    }

    /// As [`mma`](Self::mma), of two [operands](crate::operand), each of a stage that is open, in both CTAs: A has 128 rows in each, B half of
    /// the `COLS`, and all one K.
    #[inline(always)]
    pub fn mma_of<T, A, B, SA, SB, ByA, ByB, const HALF: usize, const K: usize>(
        &mut self,
        thread: &mut T,
        a: Operand<'_, A, SA, ByA>,
        b: Operand<'_, B, SB, ByB>,
    ) where
        T: SameSet<S> + SameSet<SA> + SameSet<SB> + SingleThread,
        ByA: DrainsLike<ByPairMma>,
        ByB: DrainsLike<ByPairMma>,
        A: Matrix<ROWS, K, Element: MmaElement>,
        B: Matrix<HALF, K, Element: MmaTimes<A::Element>>,
    {
        let _ = thread;
        let idesc = const { pair_instruction::<A::Element>(HALF, COLS) };
        // SAFETY: one thread of the CTA that leads (I1, I9), which holds both stages open, in both CTAs, at the same places (I7, I23): they were
        // acquired, their contents are the async proxy's (I13, I17), and they go back by a commit of this thread behind the views that are
        // used up here, or not at all (I18, I19). The accumulator is this thread's, and the instructions into it, all of one kind and
        // shape, are issued in order (I14).
        unsafe {
            multiply::<Group2, A, B, ROWS, HALF, K>(
                self.tensor,
                [a.at(), b.at()],
                idesc,
                self.started,
            )
        };
        self.started = true;
    }

    /// Hands the accumulator to the consumers of both CTAs once its matrix instructions have completed.
    ///
    /// # PTX
    /// `tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64`, PTX 8.6, sm_100a (ISA
    /// 9.7.16.10.1); it contains `tcgen05.fence::before_thread_sync`.
    #[inline(always)]
    pub fn commit<T>(
        self, // D5: the commit hands the accumulator on; take the next one from `acquire`
        thread: &mut T,
    ) where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        // SAFETY: the full barrier of each CTA expects one arrival a phase (I11), which this thread's commit makes of what it has issued
        // (I19); the peer has not ended (I22).
        unsafe { commit_multicast::<Group2>(self.next.in_cluster(), both()) };
        self.hand.settle();
    }

    /// What the consuming end does with an accumulator that it was handed: the issuing end [commits](Self::commit) (rule D5).
    #[inline(always)]
    pub fn release<T>(
        self, // D5: the commit hands the accumulator on; take the next one from `acquire`
        thread: &mut T,
    ) where
        T: SameSet<S>,
        Self: MmaCompleted,
    {
        let _ = thread;
        unreachable!()
    }
}

/// One CTA's part of a pair of K-major tiles whose product is an accumulator of 256 × `N`.
///
/// # Safety
/// `issue` reads the tiles at their places in both CTAs and writes the accumulator, nothing else.
#[diagnostic::on_unimplemented(
    message = "the product of two CTAs' `{Self}` is not an accumulator of 256 × {N}",
    label = "shapes or types do not fit",
    note = "rule D14: `tcgen05.mma.cta_group::2` multiplies 128 rows of A in each of two CTAs by an N × K tile, of which each CTA \
            has one \
            half of the rows, bf16 or f16, into 256 × N (PTX ISA 9.7.16.2.1)",
    note = "make the stage `(Tile<bf16, 128, K>, Tile<bf16, HALF, K>)`, where `HALF` is half of {N}"
)]
pub unsafe trait PairOperands<const N: usize> {
    /// # Safety
    /// 1. One thread of the CTA that leads calls it, for an accumulator that is its own and a stage whose contents, in both CTAs, the async proxy
    ///    may read until this thread's next commit completes.
    #[doc(hidden)]
    unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool);
}

/// Tiles that the CTAs at the same place in their pairs have loaded for each other are the tiles themselves.
macro_rules! loaded_for_all_pairs {
    ($(($a:ty, $b:ty) $($pairs:ident)*;)*) => {$(
        // SAFETY: the tiles themselves.
        #[diagnostic::do_not_recommend]
        unsafe impl<E: MmaElement, const N: usize, const HALF: usize, const K: usize, $(const $pairs: u32),*> PairOperands<N>
            for ($a, $b)
        {
            #[inline(always)]
            unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool) {
                // SAFETY: the caller's promise.
                unsafe {
                    <(Tile<E, ROWS, K>, Tile<E, HALF, K>) as PairOperands<N>>::issue(accumulator, stage, accumulate)
                }
            }
        }
    )*};
}
loaded_for_all_pairs! {
    (ToAll<Tile<E, ROWS, K>, A>, Tile<E, HALF, K>) A;
    (Tile<E, ROWS, K>, ToAll<Tile<E, HALF, K>, B>) B;
    (ToAll<Tile<E, ROWS, K>, A>, ToAll<Tile<E, HALF, K>, B>) A B;
}

/// The instruction descriptor of a product of 256 × `n`, of whose columns each CTA has `half`.
const fn pair_instruction<E: MmaElement>(half: usize, n: usize) -> u32 {
    require(
        2 * half == n,
        "rule D14: each CTA of the pair has one half of the rows of B, which are the columns of the accumulator: make B's \
         tile `Tile<_, HALF, K>` with `HALF` half of them",
    );
    instruction::<E>(2 * ROWS, n)
}

// SAFETY: the instructions read the two tiles, at the same places in both CTAs (I7, I23), and write the accumulator.
unsafe impl<E: MmaElement, const N: usize, const HALF: usize, const K: usize> PairOperands<N>
    for (Tile<E, ROWS, K>, Tile<E, HALF, K>)
{
    #[inline(always)]
    unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool) {
        let idesc = const { pair_instruction::<E>(HALF, N) };
        // SAFETY: the caller's promise.
        unsafe {
            multiply::<Group2, Tile<E, ROWS, K>, Tile<E, HALF, K>, ROWS, HALF, K>(
                accumulator,
                tiles::<E, ROWS, HALF, K>(stage),
                idesc,
                accumulate,
            )
        }
    }
}
