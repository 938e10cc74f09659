//! Accumulators of a pair of CTAs: `tcgen05.mma.cta_group::2`, which multiplies what both have in shared memory.
//!
//! A field `acc: PairAccs<2, 256, 4>` of a layout is a ring of two accumulators of 256 × 256 in the tensor memory of the two CTAs
//! of a cluster, 128 rows in each. A stage of a ring that [`ByPairMma`] drains has, in each CTA, the CTA's 128 rows of A and its half
//! of the rows of B. The CTA of rank 0 issues the instructions, for both:
//!
//! | | rank 0 | rank 1 |
//! |---|---|---|
//! | `acquire` | waits for its own epilogue, and for the peer | waits for its own epilogue, and says so to the peer |
//! | `mma` | waits for the peer's stage, issues, commits to both | says to the peer that its stage is full |
//! | `commit` | commits to both | |
//!
//! The kernel is the same for both. Each loads and drains its own half, with the ends that a CTA alone has.
//!
//! # Why it is ordered
//! Rank 1's thread has acquired its own stage when it arrives, with `.release.cluster`, on the barrier of rank 0 that stands for that
//! stage; rank 0's acquires there, at the scope of the cluster, before it issues (rules C7, C11; causality is transitive). One
//! barrier for each stage: the peer can not arrive twice before rank 0 has waited, because the stage comes back by the commit behind
//! that wait (rules C10, D6). Accumulators are handed over like those of a CTA alone (rules D1 to D3, D5), by commits that arrive in both.
//!
//! Tensor memory goes back, and the CTAs exit, when the roles of both have ended (rule D13).

use core::marker::PhantomData;

use crate::accumulator::{
    AccConsumer, Accs, Deallocated, Draining, Issuing, MmaElement, instruction, multiply,
};
use crate::cursor::Cursor;
use crate::dropped::{Accumulator, Hand};
use crate::layout::{Field, allocated_columns};
use crate::pair::PeersHaveEnded;
use crate::path::{ByPairMma, Full, MmaCompleted};
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::{
    Group2, commit_multicast, dealloc, fence_after_thread_sync, fence_before_thread_sync,
};
use crate::ptx::{mark, mbarrier, shared, sreg};
use crate::require;
use crate::scope::Cluster;
use crate::sem::{Acquire, Release};
use crate::stages::{DrainsLike, Ring, Slot, wait_phase};
use crate::tile::Tile;
use crate::token::{
    Brand, Finished, Marks, ProofOf, SameSet, Set, SingleThread, StaysWithItsThreads, WARP,
};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;
/// Rows of an accumulator in each of the two CTAs.
const ROWS: usize = 128;
/// Both CTAs, as the mask of a multicast.
const BOTH: u16 = 0b11;

/// A ring of `N` accumulators of 256 rows and `COLS` columns of f32 in the tensor memory of a pair of CTAs, into which stages of a
/// ring of at most `STAGES` are multiplied: a field of a layout, at most one in each.
pub struct PairAccs<const N: u32, const COLS: usize, const STAGES: u32>(());

impl<const N: u32, const COLS: usize, const STAGES: u32> PairAccs<N, COLS, STAGES> {
    /// Behind the barriers of [`Accs`]: one for each accumulator that the peer has drained, one for each stage that it has filled.
    const DRAINED: u32 = <Accs<N, ROWS, COLS> as Field>::BYTES;
    const FILLED: u32 = Self::DRAINED + N * MBARRIER;
}

// SAFETY: (1) each barrier expects the one arrival a phase that its side makes: a commit, a thread of this CTA, or the peer's (I11);
// (2) barriers within BYTES, accumulators within COLUMNS (I7); (3) `Closed` comes from `dealloc`, which takes the proofs of both ends
// (I21).
unsafe impl<const N: u32, const COLS: usize, const STAGES: u32> Field
    for PairAccs<N, COLS, STAGES>
{
    const BYTES: u32 = {
        require(STAGES >= 1, "rule C10: a ring has at least one stage: write 1 or more");
        Self::FILLED + STAGES * MBARRIER
    };
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
    const CLUSTER: u32 = 2;
    type Part<'k, Tag> = PairAccsPart<'k, Tag, N, COLS, STAGES>;
    type Closed<'k, Tag> = Deallocated<'k, Tag>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut at = 0;
        while at < Self::BYTES {
            // SAFETY: the barrier's place (I7), before anyone uses it (I6).
            unsafe { mbarrier::init(base.offset(at), 1) };
            at += MBARRIER;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, tensor: u32) -> Self::Part<'k, Tag> {
        PairAccsPart { base, tensor, brand: PhantomData, field: PhantomData }
    }
}

/// Accumulators of a pair that have been claimed and not yet split into their ends.
pub struct PairAccsPart<'k, Tag, const N: u32, const COLS: usize, const STAGES: u32> {
    base: Addr<SharedCta>,
    tensor: u32,
    brand: Brand<'k>,
    field: Marks<Tag>,
}

/// What [`PairAccsPart::split`] gives: the two ends and the allocation.
pub type PairEnds<'k, Tag, P, C, RingTag, const N: u32, const COLS: usize, const STAGES: u32> = (
    PairProducer<'k, Tag, P, RingTag, N, COLS, STAGES>,
    AccConsumer<'k, Tag, C, N, ROWS, COLS>,
    PairMemory<'k, Tag>,
);

impl<'k, Tag, const N: u32, const COLS: usize, const STAGES: u32>
    PairAccsPart<'k, Tag, N, COLS, STAGES>
{
    /// The two ends, and the allocation that outlives them. The consuming end is that of a CTA alone.
    #[inline(always)]
    pub fn split<P: Set, C: Set, RingTag>(
        self, // C2: the accumulators are split once, so each end exists once for each thread; hand the ends to their roles
    ) -> PairEnds<'k, Tag, P, C, RingTag, N, COLS, STAGES>
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
            PairMemory {
                address: self.tensor,
                columns: const { allocated_columns(<Accs<N, ROWS, COLS> as Field>::COLUMNS) },
                brand: PhantomData,
                field: PhantomData,
            },
        )
    }
}

/// The allocation of tensor memory behind the accumulators of a pair.
#[must_use = "tensor memory must be deallocated before the kernel ends (rule D8)"]
pub struct PairMemory<'k, Tag> {
    address: u32,
    columns: u32,
    brand: Brand<'k>,
    field: Marks<Tag>,
}

impl<'k, Tag> PairMemory<'k, Tag> {
    /// Gives the memory back, in both CTAs; takes the proofs of both ends (rule D8).
    ///
    /// # PTX
    /// `tcgen05.fence::after_thread_sync`, then `tcgen05.dealloc.cta_group::2.sync.aligned.b32` by the first warp of each
    /// CTA (ISA 9.7.16.7.1).
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
        fence_after_thread_sync();
        if sreg::tid_x() / WARP == 0 {
            // SAFETY: one whole warp of each CTA, the one that allocated (I1, I2); both ends have ended (I21), in both CTAs (I5, I22).
            unsafe { dealloc::<Group2>(Addr::from_raw(self.address), self.columns) };
        }
        // SAFETY: just deallocated; the warps that did not do it end the CTA together with the one that did (I21).
        unsafe { Deallocated::assume() }
    }
}

/// The producing end, in each CTA one thread; that of rank 0 issues for both. What it multiplies comes from the ring `RingTag`.
pub struct PairProducer<'k, Tag, S, RingTag, const N: u32, const COLS: usize, const STAGES: u32> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, RingTag)>,
}

/// An accumulator of a pair while its producing end holds it; see [`accumulator::Acc`](crate::accumulator::Acc).
#[must_use = "an accumulator that is not handed on stops the ring"]
pub struct PairAcc<'e, 'k, Tag, S, RingTag, const COLS: usize, const STAGES: u32> {
    /// Barriers for the peer's stages.
    filled: Addr<SharedCta>,
    /// Barrier on which the accumulator is handed on, in both CTAs.
    next: Addr<SharedCta>,
    tensor: Addr<Tmem>,
    started: bool,
    hand: Hand<Accumulator>,
    end: PhantomData<&'e mut ()>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, RingTag)>,
    stays: StaysWithItsThreads,
}

/// Whether this CTA issues for both.
#[inline(always)]
fn issues() -> bool {
    sreg::cluster_ctarank() == 0
}

/// In rank 1, arrives on the barrier of rank 0 at this place; there, waits for the phase of parity `phase`.
///
/// # Safety
/// 1. `barrier` is one of the field's, initialised by the claim, that expects one arrival of the peer a phase, and rank 1 arrives only
///    when rank 0 has waited for the phase before.
#[inline(always)]
unsafe fn meet(barrier: Addr<SharedCta>, phase: u32) {
    if issues() {
        // SAFETY: the caller's promise.
        unsafe { mbarrier::wait_parity::<Acquire, Cluster>(barrier, phase) };
    } else {
        // SAFETY: the caller's promise; the field lies at the same place in both CTAs (I7), and the peer has not ended, since the exit
        // waits for all (I22).
        unsafe { mbarrier::arrive_remote::<Release, Cluster>(shared::mapa(barrier, 0)) };
    }
}

impl<'k, Tag, S, RingTag, const N: u32, const COLS: usize, const STAGES: u32>
    PairProducer<'k, Tag, S, RingTag, N, COLS, STAGES>
{
    /// Waits until the epilogues of both CTAs have drained the next accumulator, and takes it to accumulate into, from zero.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta` on the empty barrier, `tcgen05.fence::after_thread_sync` and
    /// `::before_thread_sync`; in rank 1 `mbarrier.arrive.release.cluster.shared::cluster.b64 _`, in rank 0 the wait for it and
    /// `tcgen05.fence::after_thread_sync` (ISA 9.7.16.6.4).
    #[inline(always)]
    pub fn acquire<T>(&mut self, thread: &mut T) -> PairAcc<'_, 'k, Tag, S, RingTag, COLS, STAGES>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        let index = self.cursor.index();
        let empty = self.base.offset(Accs::<N, ROWS, COLS>::EMPTY + index * MBARRIER);
        let drained = self.base.offset(PairAccs::<N, COLS, STAGES>::DRAINED + index * MBARRIER);
        // SAFETY: the ring's barriers, initialised by the claim (I6), and the parities of this end's own cursor (I9, I10). The peer
        // arrives once for each round of the accumulator, and the next round comes behind the commit of this one (I11).
        unsafe {
            wait_phase(empty, self.cursor.emptied());
            fence_after_thread_sync();
            fence_before_thread_sync();
            meet(drained, self.cursor.filled());
            fence_after_thread_sync();
        }
        self.cursor.advance();
        PairAcc {
            filled: self.base.offset(PairAccs::<N, COLS, STAGES>::FILLED),
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
    /// In rank 0 a `tcgen05.commit.cta_group::2` with `.multicast::cluster` on a barrier of each CTA; the wait for it.
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
        // says no more than what the wait observed (I21). The two fences pass the order on to the barrier that joins the CTAs (ISA
        // 9.7.16.6.4).
        unsafe {
            if issues() {
                commit_multicast::<Group2>(drain.in_cluster(), BOTH);
            }
            wait_phase(drain, 0);
            fence_after_thread_sync();
            fence_before_thread_sync();
            Finished::assume()
        }
    }
}

impl<'k, Tag, S, RingTag, const COLS: usize, const STAGES: u32>
    PairAcc<'_, 'k, Tag, S, RingTag, COLS, STAGES>
{
    /// Multiplies the stages of both CTAs: A is 128 × K in each, B half of the `COLS` rows in each, all K-major. The stage goes back to
    /// the producer of its ring when the instructions have completed.
    ///
    /// # PTX
    /// In rank 1 `mbarrier.arrive.release.cluster.shared::cluster.b64 _`; in rank 0 the wait for it, one
    /// `tcgen05.mma.cta_group::2.kind::f16` for each 16 columns of K, and `tcgen05.commit.cta_group::2` with `.multicast::cluster` on the
    /// empty barriers of both. PTX 8.6, sm_100a (ISA 9.7.16.10.9, 9.7.16.10.1).
    #[inline(always)]
    pub fn mma<T, R, RS>(
        &mut self,
        thread: &mut T,
        stage: Slot<'k, RingTag, R, RS, Full>, // D6: only the commit hands the stage back
    ) where
        T: SameSet<S> + SameSet<RS> + SingleThread,
        R: Ring<Drain: DrainsLike<ByPairMma>>,
        R::Data: PairOperands<COLS>,
        RS: Set,
    {
        let _ = thread;
        const {
            require(
                R::STAGES <= STAGES,
                "rule C10: the accumulators of a pair have one barrier for each stage of the ring that is multiplied into them: \
                 raise \
                 `STAGES` of `PairAccs` to that of the ring",
            );
        };
        // SAFETY: one thread of each CTA (I1), and one ring, of which no layout has two for a pair (I23). Both have acquired their parts
        // of the stage, whose contents are the async proxy's (I13, I17) and stay so until the commit (I18); the accumulator is this
        // thread's, and the instructions into it are issued in order. Rank 1's next arrival for this stage comes behind the commit,
        // which comes behind the wait: both barriers of the stage count the same laps, so that its phase is that of both (I10).
        unsafe {
            meet(self.filled.offset(stage.index() * MBARRIER), stage.phase());
            if issues() {
                R::Data::issue(self.tensor, stage.data(), self.started);
                commit_multicast::<Group2>(stage.empty().in_cluster(), BOTH);
            }
        }
        self.started = true;
        stage.goes_back();
    }

    /// Hands the accumulator to the consumers of both CTAs once its matrix instructions have completed.
    ///
    /// # PTX
    /// `tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64` in rank 0, PTX 8.6, sm_100a (ISA
    /// 9.7.16.10.1); it contains `tcgen05.fence::before_thread_sync`.
    #[inline(always)]
    pub fn commit<T>(
        self, // D5: the commit hands the accumulator on; take the next one from `acquire`
        thread: &mut T,
    ) where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        if issues() {
            // SAFETY: the full barrier of each CTA expects one arrival a phase (I11); the peer has not ended (I22).
            unsafe { commit_multicast::<Group2>(self.next.in_cluster(), BOTH) };
        }
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
    /// 1. One thread of rank 0 calls it, for an accumulator that is its own and a stage whose contents, in both CTAs, the async proxy
    ///    may read until this thread's next commit completes.
    #[doc(hidden)]
    unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool);
}

// SAFETY: the instructions read the two tiles, at the same places in both CTAs (I7, I23), and write the accumulator.
unsafe impl<E: MmaElement, const N: usize, const HALF: usize, const K: usize> PairOperands<N>
    for (Tile<E, ROWS, K>, Tile<E, HALF, K>)
{
    #[inline(always)]
    unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool) {
        let idesc = const {
            require(
                2 * HALF == N,
                "rule D14: each CTA of the pair has one half of the rows of B, which are the columns of the accumulator: make B's \
                 tile `Tile<_, HALF, K>` with `HALF` half of them",
            );
            instruction::<E>(2 * ROWS, N)
        };
        // SAFETY: the caller's promise.
        unsafe { multiply::<Group2, E, ROWS, HALF, K>(accumulator, stage, idesc, accumulate) }
    }
}
