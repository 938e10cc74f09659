//! A relay: each CTA of a cluster writes into the shared memory of the next one.
//!
//! A field `halo: Relay<2, f32, 256, 4>` of a layout is a ring of two stages of 256 elements in each of the four CTAs of a
//! cluster. CTA `r` holds the end that fills the stages of CTA `r + 1` (the last one those of the first), and the end that
//! drains its own:
//!
//! | the CTA before | this CTA |
//! |---|---|
//! | `acquire`, `fill` (`st.async`), `publish` (remote arrival) | `wait`, `get` |
//! | | `release` (remote arrival) |
//! | `finish` | |
//!
//! # Why a hand-over is one
//! Barriers are waited for only where they are, so each side arrives on the barrier of the CTA that waits (rule C11): the
//! full barrier lies with the stage, the empty barrier with the CTA that fills it. An arrival reaches another CTA, so it
//! and the wait are at cluster scope (rule C7).
//!
//! Ordinary stores into a peer's memory would need a fence of the whole GPU before the arrival, since the cheap one covers a CTA's own
//! memory (rule F9). So `fill` pushes: `st.async` completes its bytes on the full barrier beside the element (ISA 9.7.9.13), which expects
//! those of all the set's threads and one arrival, and each thread of the waiting set acquires by itself. On the way back the stage is the
//! own CTA's: behind its set's barrier one lane runs the restricted fences, cumulative over the set's loads (ISA 8.8), and arrives.
//!
//! The claim ends and the exit begins with the cluster's barrier, so both memories are there from the first arrival to the
//! last (rule F3); `finish` waits until what was given has been taken, so that no store is under way then (rule B9).
//!
//! ```
//! use baton::prelude::*;
//! use baton::relay::Relay;
//!
//! baton::shared! {
//!     pub struct Smem in smem { values: Relay<2, u32, 64, 2> }
//! }
//!
//! /// Each CTA gets what the other brought.
//! #[baton::kernel(threads = 64, cluster = 2)]
//! fn swap(cta: Cta<'_, Smem, 64>, values: GlobalPtr<u32>) -> Exit<'_> {
//!     let mut mine = values.partition(&cta);
//!     let (mut cta, smem::Parts { values, .. }) = cta.claim();
//!     let (mut giving, mut taking) = values.split();
//!     let me = cta.rank();
//!     giving.acquire(&mut cta).fill(&mut cta, |_| mine.get(0)).publish::<Cluster, _>(&mut cta);
//!     let stage = taking.wait::<Cluster, _>(&mut cta);
//!     mine.put(0, stage.get(me));
//!     stage.release::<Cluster, _>(&mut cta);
//!     let passed = giving.finish(&mut cta);
//!     cta.join().exit((passed,))
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;

use crate::cursor::Cursor;
use crate::dropped::{Hand, StageSlot};
use crate::layout::Field;
use crate::path::{Empty, Full, HasContents, ReadsEnded, Untouched, Written};
use crate::peers;
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCluster, SharedCta};
use crate::require;
use crate::scope::{Cluster, WithinCluster};
use crate::sem::Relaxed;
use crate::shared_access::{check, read};
use crate::tile::{Element, Elements, Linear, StageData};
use crate::token::{Brand, Finished, Marks, PassedOf, SameSet, Set, StaysWithItsThreads, sealed};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// `N` stages of `LEN` elements of `T` in each of the `CTAS` CTAs of a cluster, filled by the CTA before: a field of a
/// layout.
pub struct Relay<const N: u32, T, const LEN: usize, const CTAS: u32>(PhantomData<T>);

impl<const N: u32, T: Element, const LEN: usize, const CTAS: u32> Relay<N, T, LEN, CTAS> {
    const STRIDE: u32 = <Linear<T, LEN> as StageData>::BYTES.next_multiple_of(16);
    /// Elements that one `st.async` stores: one of four or eight bytes, or as many smaller ones as four bytes hold.
    const TOGETHER: u32 = if T::BYTES < 4 { 4 / T::BYTES as u32 } else { 1 };
    /// What the stores of a stage bring, of which there is one for each begun group of elements.
    const PUSHED: u32 = (LEN as u32).div_ceil(Self::TOGETHER) * Self::TOGETHER * T::BYTES as u32;
    const FULL: u32 = N * Self::STRIDE;
    const EMPTY: u32 = Self::FULL + N * MBARRIER;
}

// SAFETY: (1) `init` initialises each full barrier with the one arrival that the CTA before makes a phase, and each empty
// barrier with that of the CTA behind (I11, I23); (2) stages and barriers within BYTES (I7); (3) `Closed` comes from `finish`, which has
// waited until every stage that was filled came back (I21); arrivals come before the cluster's barrier at the exit (I22).
unsafe impl<const N: u32, T: Element, const LEN: usize, const CTAS: u32> Field
    for Relay<N, T, LEN, CTAS>
{
    const BYTES: u32 = {
        require(N >= 1, "rule C10: a relay has at least one stage: write 1 or more");
        Self::EMPTY + N * MBARRIER
    };
    const ALIGN: u32 = 16;
    const CLUSTER: u32 = {
        require(
            CTAS >= 2 && CTAS <= 16,
            "rule F3: a relay has 2 to 16 CTAs, more than 8 only where the device allows it: choose a number of them",
        );
        CTAS
    };
    type Part<'k, Tag> = RelayPart<'k, Tag, N, T, LEN, CTAS>;
    type Closed<'k, Tag> = Finished<'k, PassedOf<Tag>>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut i = 0;
        while i < 2 * N {
            // SAFETY: the barrier's place (I7), before anyone uses it (I6).
            unsafe { ptx::mbarrier::init(base.offset(Self::FULL + i * MBARRIER), 1) };
            i += 1;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, _: u32) -> Self::Part<'k, Tag> {
        RelayPart { base, brand: PhantomData, field: PhantomData }
    }
}

/// A relay that has been claimed and not yet split into its ends.
pub struct RelayPart<'k, Tag, const N: u32, T, const LEN: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    brand: Brand<'k>,
    field: Marks<(Tag, T)>,
}

/// The end that fills the stages of the next CTA.
pub struct Giving<'k, Tag, S, const N: u32, T, const LEN: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, T, S)>,
}

/// The end that drains this CTA's own stages.
pub struct Taking<'k, Tag, S, const N: u32, T, const LEN: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, T, S)>,
}

/// What [`RelayPart::split`] gives.
pub type Ends<'k, Tag, P, C, const N: u32, T, const LEN: usize, const CTAS: u32> =
    (Giving<'k, Tag, P, N, T, LEN, CTAS>, Taking<'k, Tag, C, N, T, LEN, CTAS>);

impl<'k, Tag, const N: u32, T: Element, const LEN: usize, const CTAS: u32>
    RelayPart<'k, Tag, N, T, LEN, CTAS>
{
    /// The two ends of this CTA. Which set of threads holds an end follows from its first use.
    #[inline(always)]
    pub fn split<P: Set, C: Set>(
        self, // C2: a relay is split once, so each end exists once for each thread; hand the ends to their roles
    ) -> Ends<'k, Tag, P, C, N, T, LEN, CTAS>
    where
        Tag: crate::layout::Tag,
    {
        ptx::mark::end::<Tag, P, 0>();
        ptx::mark::end::<Tag, C, 1>();
        let base = self.base;
        (
            Giving { base, cursor: Cursor::start(), brand: PhantomData, field: PhantomData },
            Taking { base, cursor: Cursor::start(), brand: PhantomData, field: PhantomData },
        )
    }
}

/// A scope in which an arrival and a wait of two CTAs of a cluster meet.
#[diagnostic::on_unimplemented(
    message = "scope `{Self}` does not reach the other CTA of the cluster",
    label = "narrower than the cluster",
    note = "rule C7: an arrival on another CTA's barrier and the wait for what another CTA wrote order anything only at scope \
            `.cluster`, on both sides; the default of both is `.cta` (PTX ISA 8.5, 8.7, mbarrier.arrive, mbarrier.try_wait)",
    note = "write `publish::<Cluster, _>`, `wait::<Cluster, _>` and `release::<Cluster, _>`"
)]
pub trait ReachesPeers: WithinCluster {}
#[diagnostic::do_not_recommend]
impl ReachesPeers for Cluster {}

/// A barrier that lies in the shared memory of the CTA that waits for it.
#[diagnostic::on_unimplemented(
    message = "the barrier of `{Self}` lies in another CTA",
    label = "a wait on a peer's barrier",
    note = "rule C11: `mbarrier.test_wait` and `try_wait` take a barrier of the executing CTA, and an arrival on another CTA's \
            barrier \
            returns no state to wait for (PTX ISA, mbarrier.try_wait, mbarrier.arrive)",
    note = "wait for what the peer arrives on here: `giving.acquire(&mut set)` returns when the peer has released a stage"
)]
pub trait BarrierOfThisCta: sealed::Sealed {}

/// A stage in the shared memory of another CTA while this one fills it.
#[must_use = "a stage that is not handed on stops the relay"]
pub struct PeerSlot<'k, Tag, S, T, State, const N: u32, const LEN: usize, const CTAS: u32> {
    data: Addr<SharedCluster>,
    full: Addr<SharedCluster>,
    hand: Hand<StageSlot>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, T, State)>,
    stays: StaysWithItsThreads,
}

/// A stage of this CTA that the one before has filled.
#[must_use = "a stage that is not handed back stops the relay"]
pub struct OwnSlot<'k, Tag, S, T, State, const N: u32, const LEN: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    index: u32,
    hand: Hand<StageSlot>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, T, State)>,
    stays: StaysWithItsThreads,
}

/// A stage that was handed to the next CTA. It comes back through [`Giving::acquire`]; nothing is left to do with it here.
pub struct Passed<'k, Tag>(Brand<'k>, Marks<Tag>, StaysWithItsThreads);

impl<Tag> Passed<'_, Tag> {
    /// Waits until the peer has taken the stage, on a barrier of this CTA: which it does not arrive on then (rule C11).
    #[inline(always)]
    pub fn wait<U: Set>(
        self, // C11: a barrier of this CTA is not where the peer arrives; leave the waiting to `acquire`
        set: &mut U,
    ) where
        Self: BarrierOfThisCta,
    {
        let _ = set;
        unreachable!()
    }
}

/// The CTA `step` further on in the ring of this cluster's.
#[inline(always)]
fn neighbour<const CTAS: u32>(step: u32) -> u32 {
    let to = ptx::sreg::cluster_ctarank() + step;
    if to >= CTAS { to - CTAS } else { to }
}

impl<'k, Tag, S: Set, const N: u32, T: Element, const LEN: usize, const CTAS: u32>
    Giving<'k, Tag, S, N, T, LEN, CTAS>
{
    /// Waits until the next CTA has released the next stage, and takes it.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64` on this CTA's empty barrier, at once on the
    /// first lap; `fence.acquire.sync_restrict::shared::cluster.cluster`,
    /// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`; `mapa.shared::cluster`. PTX 8.6, sm_90 (ISA 9.7.13.4,
    /// 9.7.13.15.16).
    #[inline(always)]
    pub fn acquire<U: SameSet<S>>(
        &mut self,
        set: &mut U,
    ) -> PeerSlot<'k, Tag, S, T, Empty, N, LEN, CTAS> {
        let _ = set;
        let index = self.cursor.index();
        let empty = self.base.offset(Relay::<N, T, LEN, CTAS>::EMPTY + index * MBARRIER);
        // SAFETY: this CTA's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe { peers::wait(empty, self.cursor.emptied()) };
        self.cursor.advance();
        let to = neighbour::<CTAS>(1);
        let data = self.base.offset(index * Relay::<N, T, LEN, CTAS>::STRIDE);
        let full = self.base.offset(Relay::<N, T, LEN, CTAS>::FULL + index * MBARRIER);
        // SAFETY: the field lies at the same place in every CTA of the cluster (I7), which has `CTAS` of them (I23); none has ended,
        // since the exit waits for all (I22).
        unsafe { PeerSlot::new(ptx::shared::mapa(data, to), ptx::shared::mapa(full, to)) }
    }

    /// Ends the giving: waits until the next CTA has taken and released every stage that was filled, so that no store into it is under
    /// way (rule B9).
    ///
    /// # PTX
    /// As [`acquire`](Self::acquire), for each stage.
    #[inline(always)]
    pub fn finish<U: SameSet<S>>(
        self, // B9: after this no stage is filled; pass the proof to the exit
        set: &mut U,
    ) -> Finished<'k, PassedOf<Tag>> {
        let _ = set;
        let mut index = 0;
        while index < ptx::opaque(N) {
            let empty = self.base.offset(Relay::<N, T, LEN, CTAS>::EMPTY + index * MBARRIER);
            // SAFETY: this CTA's barrier (I6), whose phase ends as often as the stage was filled; nobody but this end begins the next
            // (I9, I10).
            unsafe { peers::wait_to_end(empty, self.cursor.last_fill(index)) };
            index += 1;
        }
        // SAFETY: every stage that was filled has come back, and this end, the one that fills, is consumed (I9, I21).
        unsafe { Finished::assume() }
    }
}

impl<'k, Tag, S: Set, T: Element, State, const N: u32, const LEN: usize, const CTAS: u32>
    PeerSlot<'k, Tag, S, T, State, N, LEN, CTAS>
{
    #[inline(always)]
    fn new(data: Addr<SharedCluster>, full: Addr<SharedCluster>) -> Self {
        PeerSlot {
            data,
            full,
            hand: Hand::new(),
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    /// Pushes the elements that this thread owns (thread `r` of `n` owns `r`, `r + n`, …, and of elements of less than four bytes as many
    /// neighbours as four bytes hold; rule A13) into the next CTA's memory.
    ///
    /// # PTX
    /// `st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32`, of elements of eight bytes `.b64`. PTX 8.1, sm_90 (ISA 9.7.9.13).
    #[inline(always)]
    pub fn fill<U>(
        self, // A9: the elements are written; go on with the stage that this returns
        set: &mut U,
        mut value: impl FnMut(u32) -> T,
    ) -> PeerSlot<'k, Tag, S, T, Written, N, LEN, CTAS>
    where
        U: SameSet<S>,
        State: Untouched,
    {
        let together = const { Relay::<N, T, LEN, CTAS>::TOGETHER };
        let mut index = set.rank() * together;
        while index < LEN as u32 {
            let at = self.data.offset(<Linear<T, LEN>>::byte_offset(index));
            let mut word = value(index).to_word();
            let mut more = 1;
            while more < together && index + more < LEN as u32 {
                word |= value(index + more).to_word() << (8 * T::BYTES as u32 * more);
                more += 1;
            }
            // SAFETY: in the stage, whose place is rounded up, and this thread's own (I16); the stage is this set's until it is published
            // (I13), and stored to once (I14), so that its barrier expects these bytes (I12). The next CTA does not end before `finish`
            // has seen them taken (I21, I22).
            unsafe {
                if T::BYTES == 8 {
                    ptx::async_store::st_async(at, word, self.full);
                } else {
                    ptx::async_store::st_async(at, word as u32, self.full);
                }
            }
            index += U::THREADS * together;
        }
        self.hand.settle();
        PeerSlot::new(self.data, self.full)
    }

    /// Hands the stage to the next CTA.
    ///
    /// # PTX
    /// `mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _` by one lane, with the bytes that the set's threads push; before it
    /// the set's barrier, where the set has more threads than the stage has elements for. PTX 8.6, sm_90 (ISA 9.7.13.15.13).
    #[inline(always)]
    pub fn publish<Sc, U>(
        self, // A9: the stage is the next CTA's now; take the next one from `acquire`
        set: &mut U,
    ) -> Passed<'k, Tag>
    where
        Sc: ReachesPeers,
        U: SameSet<S>,
        State: HasContents,
    {
        let full = self.full;
        if const { (LEN as u32).div_ceil(Relay::<N, T, LEN, CTAS>::TOGETHER) < S::THREADS } {
            // A thread without elements pushes nothing that the phase waits for: here it has waited for the stage, so that no phase of
            // the empty barrier passes it by (I10).
            set.barrier_for(full.raw());
        } else {
            set.agree_on(full.raw());
        }
        set.lead(|| {
            let pushed = const { Relay::<N, T, LEN, CTAS>::PUSHED };
            // SAFETY: the next CTA's full barrier expects this one arrival a phase (I11), and the one before is complete: its
            // stage was released (I10). Each thread of the set pushes its own elements, whose bytes together are these, and which the
            // phase waits for (I12, I14); the CTA has not ended (I22).
            unsafe { ptx::mbarrier::arrive_expect_tx_remote::<Relaxed, Sc>(full, pushed) }
        });
        self.hand.settle();
        Passed(PhantomData, PhantomData, PhantomData)
    }
}

impl<'k, Tag, S: Set, const N: u32, T: Element, const LEN: usize, const CTAS: u32>
    Taking<'k, Tag, S, N, T, LEN, CTAS>
{
    /// Waits until the CTA before has filled the next stage, and takes it. Each thread of the set waits itself.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64` on this CTA's full barrier,
    /// `fence.acquire.sync_restrict::shared::cluster.cluster`. PTX 8.6, sm_90 (ISA 9.7.13.4, 9.7.13.15.16).
    #[inline(always)]
    pub fn wait<Sc, U>(&mut self, set: &mut U) -> OwnSlot<'k, Tag, S, T, Full, N, LEN, CTAS>
    where
        Sc: ReachesPeers,
        U: SameSet<S>,
    {
        let _ = set;
        let index = self.cursor.index();
        let full = self.base.offset(Relay::<N, T, LEN, CTAS>::FULL + index * MBARRIER);
        // SAFETY: this CTA's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe { peers::wait_to_read(full, self.cursor.filled()) };
        self.cursor.advance();
        OwnSlot {
            base: self.base,
            index,
            hand: Hand::new(),
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }
}

impl<'k, Tag, S: Set, T: Element, State, const N: u32, const LEN: usize, const CTAS: u32>
    OwnSlot<'k, Tag, S, T, State, N, LEN, CTAS>
{
    /// Element `index` of the stage. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u32) -> T {
        check(index < LEN as u32);
        let data = self.base.offset(self.index * Relay::<N, T, LEN, CTAS>::STRIDE);
        // SAFETY: in range; the phase was acquired, and the CTA before writes again only when this set has released (I10, I13).
        unsafe { read(data.offset(<Linear<T, LEN>>::byte_offset(index))) }
    }

    /// Hands the stage back to the CTA before.
    ///
    /// # PTX
    /// The set's barrier, then by one lane `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster`,
    /// `fence.release.sync_restrict::shared::cta.cluster` and `mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _` on that CTA's empty
    /// barrier. PTX 8.6, sm_90 (ISA 9.7.13.4, 9.7.13.15.13).
    #[inline(always)]
    pub fn release<Sc, U>(
        self, // A9: the stage is the CTA's before now; take the next one from `wait`
        set: &mut U,
    ) where
        Sc: ReachesPeers,
        U: SameSet<S>,
        State: ReadsEnded,
    {
        let empty = self.base.offset(Relay::<N, T, LEN, CTAS>::EMPTY + self.index * MBARRIER);
        set.barrier_for(empty.raw());
        set.lead(|| {
            // Through which proxy `st.async` stores the text leaves open: the first fence is for the one, the second for the other.
            peers::release_reads_to_copies();
            peers::release_own();
            // SAFETY: the CTA before, which has not ended (I22); its empty barrier expects this one arrival a phase (I11), and the one
            // before is complete: the stage was filled again (I10). The set's barrier stands before the releases (I13, I17).
            unsafe {
                let empty = ptx::shared::mapa(empty, neighbour::<CTAS>(CTAS - 1));
                ptx::mbarrier::arrive_remote::<Relaxed, Sc>(empty);
            }
        });
        self.hand.settle();
    }
}
