//! Rings of stages: the producer/consumer pipeline, from bulk copies or threads to matrix instructions or
//! threads.
//!
//! A field `ab: Stages<4, (Tile<bf16, 128, 64>, Tile<bf16, 128, 64>), ByBulk, ByMma>` of a layout is four stages of
//! shared memory with two mbarriers each: *full*, on which the producer's hand-over completes a phase, and
//! *empty*, on which the consumer's does. [`StagesPart::split`] gives the two ends; each moves into the role
//! that uses it and keeps its own cursor, so that stage index, phase and parity appear nowhere in a kernel
//! (rules C3, C4, C10).
//!
//! Threads fill a stage by ordinary stores (`fill`) or by `cp.async` (`copy`, `wait_copies`).
//!
//! A [`Slot`] is one stage while one side holds it. Its state says what was done to it, and every method says
//! in a bound what must have been done before ([`crate::path`]):
//!
//! | filled | drained | the producer | the consumer |
//! |---|---|---|---|
//! | [`ByBulk`] | [`ByMma`] | `acquire`, `load` | `wait`, `acc.mma`, `release_by_commit` |
//! | [`ByBulk`] | [`ByPairMma`] | `acquire`, `load` | `wait`, `acc.mma` of a [pair](crate::pair_accumulator) |
//! | [`ByBulk`] | [`ByWgmma`] | `acquire`, `load` | `wait`, `product.mma_async`, `wait_group`, `release` |
//! | [`ByBulk`] | [`ByThreads`] | `acquire`, `load` | `wait`, `get`, `fence_proxy_async`, `release` |
//! | [`ByThreads`] | [`ByMma`] | `acquire`, `fill`, `fence_proxy_async`, `publish` | `wait`, `acc.mma`, `release_by_commit` |
//! | [`ByThreads`] | [`ByWgmma`] | `acquire`, `fill`, `fence_proxy_async`, `publish` | `wait`, `product.mma_async`, `wait_group`, `release` |
//! | [`ByThreads`] | [`ByThreads`] | `acquire`, `fill`, `publish` | `wait`, `get`, `release` |
//!
//! # CTAs that load for each other
//! Where the CTAs of a cluster read the same tile, each loads its share of the rows into all of them: a stage of
//! `ToAll<Tile<bf16, 128, 64>, 2>` in each of two CTAs, through tensor maps of `Tile<bf16, 64, 64>`. The ends are the same. A
//! full barrier expects the bytes of the whole tile, whichever CTA loads them; a stage is empty when the consumers of all
//! CTAs have released it, so each release arrives at every CTA, at the scope of the cluster (rules C7, C11). A copy from a
//! peer may land before this CTA has announced the bytes: its phase is the same, because the peer waited for this CTA's
//! release. The exit waits for the peers, so nobody writes into a CTA that has ended (rule F3).
//!
//! # Why a hand-over is one
//! A set acts as one: each of its threads makes its accesses, the set's barrier orders them (ISA 8.9.4), and one
//! lane arrives with `.release.cta`, which is cumulative over what the barrier ordered (ISA 8.8). So each
//! barrier counts one arrival a phase, whatever the size of the set (rule C9). Every thread of the waiting set
//! waits itself, with an acquiring `try_wait`. Nobody can be lapped: the next phase needs this set's own
//! hand-over, which needs all its threads.

use core::marker::PhantomData;

use crate::cursor::Cursor;
use crate::dropped::{Hand, StageSlot};
use crate::global::{ReadOnly, TileAt};
use crate::layout::Field;
use crate::path::{
    Acquired, Copied, CopiesLanded, CopiesUnderWay, Copying, Empty, FillCompleted, Filling, Full,
    HandsBackTo, HandsOnTo, HasContents, OpensToTheSet, PollConfirmed, Polled, ProxyFence,
    ReadByMatrix, ReadByMma, ReadsEnded, ReadsUnfenced, Synced, ThreadsReadWhereDrained, Untouched,
    VisibleToTheSet, Writable, Written,
};
pub use crate::path::{ByBulk, ByMma, ByPairMma, ByThreads, ByWgmma};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCluster, SharedCta};
use crate::require;
use crate::scope::{Cluster, Cta as CtaScope};
use crate::sem::{Acquire, Release};
use crate::shared_access::{check, read, read_chunk, unpack, write};
use crate::staging::{HandBack, StagingBuffer};
use crate::tile::{BulkTile, Elements, StageData, Tile, ToAll};
use crate::token::{
    Brand, Finished, Marks, RoleReturn, SameSet, Set, SingleThread, StaysWithItsThreads, WARP,
    sealed,
};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// A ring of `N` stages of `D`, filled by `F` and drained by `R`: a field of a layout.
pub struct Stages<const N: u32, D, F = ByBulk, R = ByMma>(PhantomData<(D, F, R)>);

/// What the types of a ring say; implemented by [`Stages`] alone.
pub trait Ring: sealed::Sealed + 'static {
    /// What a stage holds.
    type Data: StageData;
    /// How it is filled.
    type Fill: Fill;
    /// How it is drained.
    type Drain: Drain;
    /// Number of stages.
    const STAGES: u32;
    /// CTAs of the cluster that fill and release a stage together; 1 if each has its own ring.
    const PEERS: u32;
    /// Bytes from one stage to the next.
    const STRIDE: u32;
}

/// A way to fill a stage.
pub trait Fill: sealed::Sealed + 'static {
    /// What ending the producer proves: nothing is needed where threads fill.
    #[doc(hidden)]
    type Closed<'k, Tag>: RoleReturn + crate::layout::Proof;
    /// Whether an asynchronous fill may outlive the producer, and completes on the full barrier.
    #[doc(hidden)]
    const ASYNCHRONOUS: bool;
}

/// A way to drain a stage.
pub trait Drain: sealed::Sealed + 'static {
    /// Whether an asynchronous operation arrives on the empty barrier.
    #[doc(hidden)]
    const ASYNCHRONOUS: bool = false;
    /// Whether that operation may be another CTA's.
    #[doc(hidden)]
    const PAIR: bool = false;
    /// Whether threads read the stage by ordinary loads.
    #[doc(hidden)]
    const GENERIC: bool = false;
    /// Arrivals by which a consumer hands a stage back: one for the set, behind its barrier; or one of each warp of a
    /// warpgroup, where threads have read nothing that a barrier would have to bring together.
    #[doc(hidden)]
    const ARRIVALS: u32 = 1;
}

/// The way to drain a ring that the instructions `By` need.
#[diagnostic::on_unimplemented(
    message = "this ring is drained `{Self}`, and these instructions drain one `{By}`",
    label = "a stage that other instructions drain",
    note = "rule D6: what reads a stage decides on which barrier, of which CTA, hands it back, so the ring says it in the layout",
    note = "declare the ring as `Stages<N, Data, Fill, {By}>`"
)]
pub trait DrainsLike<By>: Drain {}

impl sealed::Sealed for ByThreads {}
impl sealed::Sealed for ByBulk {}
impl sealed::Sealed for ByMma {}
impl sealed::Sealed for ByPairMma {}
impl sealed::Sealed for ByWgmma {}
impl Fill for ByThreads {
    type Closed<'k, Tag> = ();
    const ASYNCHRONOUS: bool = false;
}
impl Fill for ByBulk {
    type Closed<'k, Tag> = Finished<'k, Tag>;
    const ASYNCHRONOUS: bool = true;
}
impl Drain for ByThreads {
    const GENERIC: bool = true;
}
impl Drain for ByMma {
    const ASYNCHRONOUS: bool = true;
}
impl Drain for ByPairMma {
    const ASYNCHRONOUS: bool = true;
    const PAIR: bool = true;
}
impl Drain for ByWgmma {
    const ARRIVALS: u32 = 4;
}
#[diagnostic::do_not_recommend]
impl DrainsLike<ByMma> for ByMma {}
#[diagnostic::do_not_recommend]
impl DrainsLike<ByPairMma> for ByPairMma {}
#[diagnostic::do_not_recommend]
impl DrainsLike<ByWgmma> for ByWgmma {}

impl<const N: u32, D, F, R> sealed::Sealed for Stages<N, D, F, R> {}
impl<const N: u32, D: StageData, F: Fill, R: Drain> Ring for Stages<N, D, F, R> {
    type Data = D;
    type Fill = F;
    type Drain = R;
    const STAGES: u32 = {
        require(N >= 1, "a ring has at least one stage");
        N
    };
    const PEERS: u32 = {
        require(
            D::CTAS == 1 || F::ASYNCHRONOUS,
            "only bulk copies fill the stages of all CTAs of a cluster: fill the ring `ByBulk`",
        );
        D::CTAS
    };
    const STRIDE: u32 = D::BYTES.next_multiple_of(D::ALIGN);
}

// SAFETY: (1) `init` initialises each full barrier with the one arrival that its producer makes a phase, and each empty
// barrier with the one of each consumer, which are those of all peers;
// (2) the stages and barriers are all within BYTES; (3) `Closed` comes from the producer's `finish`, which has
// waited for every bulk copy; threads' own accesses end with them.
unsafe impl<const N: u32, D: StageData, F: Fill, R: Drain> Field for Stages<N, D, F, R> {
    const BYTES: u32 = <Self as Ring>::STRIDE * <Self as Ring>::STAGES + 2 * MBARRIER * N;
    const ALIGN: u32 = if D::ALIGN > MBARRIER { D::ALIGN } else { MBARRIER };
    const REMOTE_BARRIERS: bool = F::ASYNCHRONOUS || R::ASYNCHRONOUS;
    const CLUSTER: u32 = if <Self as Ring>::PEERS > 1 { <Self as Ring>::PEERS } else { 0 };
    type Part<'k, Tag> = StagesPart<'k, Tag, Self>;
    type Closed<'k, Tag> = F::Closed<'k, Tag>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut i = 0;
        while i < 2 * N {
            let barrier = base.offset(<Self as Ring>::STRIDE * N + i * MBARRIER);
            let arrivals = if i < N { 1 } else { <Self as Ring>::PEERS * R::ARRIVALS };
            // SAFETY: the barrier's place, before anyone uses it.
            unsafe { ptx::mbarrier::init(barrier, arrivals) };
            i += 1;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, _: u32) -> Self::Part<'k, Tag> {
        StagesPart { base, brand: PhantomData, field: PhantomData }
    }
}

/// A ring that has been claimed and not yet split into its ends.
pub struct StagesPart<'k, Tag, R> {
    base: Addr<SharedCta>,
    brand: Brand<'k>,
    field: Marks<(Tag, R)>,
}

impl<'k, Tag, R: Ring> StagesPart<'k, Tag, R> {
    /// The two ends. Which set of threads holds an end follows from its first use.
    #[inline(always)]
    pub fn split<P: Set, C: Set, const N: u32>(
        self, // C2: a ring is split once, so each end exists once for each thread
    ) -> (Producer<'k, Tag, R, P, N>, Consumer<'k, Tag, R, C, N>)
    where
        R: RingOf<N>,
    {
        (
            Producer {
                base: self.base,
                cursor: Cursor::start(),
                brand: PhantomData,
                field: PhantomData,
            },
            Consumer {
                base: self.base,
                cursor: Cursor::start(),
                brand: PhantomData,
                field: PhantomData,
            },
        )
    }
}

/// A ring of `N` stages: lets the number of stages follow from the ring's type.
pub trait RingOf<const N: u32>: Ring {}
impl<const N: u32, D: StageData, F: Fill, R: Drain> RingOf<N> for Stages<N, D, F, R> {}

/// The end of a ring that fills stages. `Send`, so that it moves into a role; one for each thread of the set.
pub struct Producer<'k, Tag, R, S, const N: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, R, S)>,
}

/// The end of a ring that drains stages.
pub struct Consumer<'k, Tag, R, S, const N: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, R, S)>,
}

/// One stage, held by one side, in a state of [`crate::path`].
#[must_use = "a stage that is not handed on stops the ring"]
pub struct Slot<'k, Tag, R, S, State> {
    base: Addr<SharedCta>,
    index: u32,
    phase: u32,
    hand: Hand<StageSlot>,
    brand: Brand<'k>,
    field: Marks<(Tag, R, S, State)>,
    stays: StaysWithItsThreads,
}

/// Waits until the phase of parity `phase` has completed, and acquires what it hands over.
///
/// # Safety
/// `barrier` is an initialised mbarrier of this CTA.
#[inline(always)]
pub(crate) unsafe fn wait_phase(barrier: Addr<SharedCta>, phase: u32) {
    // SAFETY: the caller's promise.
    unsafe { ptx::mbarrier::wait_parity::<Acquire, CtaScope>(barrier, phase) }
}

/// As [`wait_phase`], on a barrier that peers of the cluster arrive on too if there are any (rule C7).
///
/// # Safety
/// As for [`wait_phase`].
#[inline(always)]
unsafe fn wait_phase_of<R: Ring>(barrier: Addr<SharedCta>, phase: u32) {
    if R::PEERS == 1 {
        // SAFETY: the caller's promise.
        unsafe { wait_phase(barrier, phase) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { ptx::mbarrier::wait_parity::<Acquire, Cluster>(barrier, phase) }
    }
}

/// Runs `action` for each of `len` numbers that the thread of that rank owns: every `T::THREADS`-th. The compiler knows how many
/// those are where each thread owns as many.
#[inline(always)]
fn each_own<T: Set>(rank: u32, len: u32, mut action: impl FnMut(u32)) {
    let mut first = 0;
    while first < len {
        let number = first + rank;
        if len % T::THREADS == 0 || number < len {
            action(number);
        }
        first += T::THREADS;
    }
}

/// Arrives once for the set, behind its barrier.
///
/// # Safety
/// `barrier` is an initialised mbarrier of this CTA that expects this arrival.
#[inline(always)]
pub(crate) unsafe fn arrive_for_the_set<T: Set>(set: &mut T, barrier: Addr<SharedCta>) {
    set.barrier();
    // SAFETY: the caller's promise; the set's barrier has ordered every thread's accesses before the release.
    set.lead(|| {
        // SAFETY: as above.
        unsafe { ptx::mbarrier::arrive::<Release, CtaScope>(barrier) };
    });
}

impl<'k, Tag, R: Ring, S: Set, State> Slot<'k, Tag, R, S, State> {
    #[inline(always)]
    fn new(base: Addr<SharedCta>, index: u32, phase: u32) -> Self {
        Slot {
            base,
            index,
            phase,
            hand: Hand::new(),
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    /// The same stage in another state.
    #[inline(always)]
    pub(crate) fn become_state<Next>(self) -> Slot<'k, Tag, R, S, Next> {
        self.hand.settle();
        Slot::new(self.base, self.index, self.phase)
    }

    /// Address of the stage's data.
    #[inline(always)]
    pub(crate) fn data(&self) -> Addr<SharedCta> {
        self.base.offset(self.index * R::STRIDE)
    }

    #[inline(always)]
    fn full(&self) -> Addr<SharedCta> {
        self.base.offset(R::STRIDE * R::STAGES + self.index * MBARRIER)
    }

    #[inline(always)]
    pub(crate) fn empty(&self) -> Addr<SharedCta> {
        self.base.offset((R::STRIDE + MBARRIER) * R::STAGES + self.index * MBARRIER)
    }

    /// Which stage of the ring it is.
    #[inline(always)]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Parity of the phase that filled it.
    #[inline(always)]
    pub(crate) fn phase(&self) -> u32 {
        self.phase
    }

    /// Something else hands the stage back.
    #[inline(always)]
    pub(crate) fn goes_back(self) {
        self.hand.settle();
    }
}

impl<'k, Tag, R: Ring, S: Set, const N: u32> Producer<'k, Tag, R, S, N> {
    /// Waits until the next stage has been handed back, and takes it.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta.shared::cta.b64` on the empty barrier; at once on the
    /// first lap. PTX 7.8, sm_90 (ISA 9.7.13.15.16).
    #[inline(always)]
    pub fn acquire<T: SameSet<S>>(&mut self, set: &mut T) -> Slot<'k, Tag, R, S, Empty> {
        let _ = set;
        let slot = Slot::new(self.base, self.cursor.index(), self.cursor.filled());
        // SAFETY: the ring's barrier, initialised by the claim.
        unsafe { wait_phase_of::<R>(slot.empty(), self.cursor.emptied()) };
        if R::PEERS > 1 && R::Drain::GENERIC {
            // Peers have read by ordinary loads what this thread's copies overwrite: each ran the fence, and so does this CTA,
            // because the text leaves open which of the two counts (docs/memory-model.md).
            ptx::fence::fence_proxy_async();
        }
        self.cursor.advance();
        slot
    }

    /// Ends the producer: waits until every bulk copy that it began has landed, so that the CTA may exit (rule
    /// B9). Costs nothing where threads fill the ring.
    #[inline(always)]
    pub fn finish<T: SameSet<S>>(
        self, // B9: after this no bulk copy is begun
        set: &mut T,
    ) -> <R::Fill as Fill>::Closed<'k, Tag> {
        let _ = set;
        if R::Fill::ASYNCHRONOUS {
            self.wait_fills();
        }
        if (R::PEERS > 1 || R::Drain::PAIR) && R::Drain::ASYNCHRONOUS {
            self.wait_drains();
        }
        // SAFETY: every fill of every stage has been observed, and this end is consumed.
        unsafe { <R::Fill as Fill>::Closed::conjure() }
    }
}

impl<Tag, R: Ring, S: Set, const N: u32> Producer<'_, Tag, R, S, N> {
    /// Waits until the last fill of every stage has completed.
    #[inline(always)]
    pub(crate) fn wait_fills(&self) {
        let mut index = 0;
        while index < ptx::opaque(N) {
            let full = self.base.offset(R::STRIDE * R::STAGES + index * MBARRIER);
            // SAFETY: the ring's barrier; nobody but this producer begins its next phase.
            unsafe { wait_phase_of::<R>(full, self.cursor.last_fill(index)) };
            index += 1;
        }
    }
}

impl<Tag, R: Ring, S: Set, const N: u32> Producer<'_, Tag, R, S, N> {
    /// Waits until every stage has been handed back, by all CTAs: their commits arrive here without a thread of theirs, and this
    /// CTA has to be there (rule F3).
    #[inline(always)]
    fn wait_drains(mut self) {
        let mut stage = 0;
        while stage < ptx::opaque(N) {
            let empty = (R::STRIDE + MBARRIER) * R::STAGES + self.cursor.index() * MBARRIER;
            // SAFETY: the ring's barrier, initialised by the claim.
            unsafe { wait_phase_of::<R>(self.base.offset(empty), self.cursor.emptied()) };
            self.cursor.advance();
            stage += 1;
        }
    }
}

impl<'k, Tag, R: Ring, S: Set, const N: u32> Consumer<'k, Tag, R, S, N> {
    /// Waits until the next stage has been filled, and takes it. Each thread of the set waits itself.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta.shared::cta.b64` on the full barrier. PTX 7.8, sm_90
    /// (ISA 9.7.13.15.16); the phase covers the bytes of bulk copies (`complete_tx`, ISA 9.7.9.25.2).
    #[inline(always)]
    pub fn wait<T: SameSet<S>>(&mut self, set: &mut T) -> Slot<'k, Tag, R, S, Full> {
        let _ = set;
        // SAFETY: the ring's barrier, initialised by the claim.
        unsafe { wait_phase_of::<R>(self.full(), self.cursor.filled()) };
        self.take()
    }

    /// The full barrier of the next stage.
    #[inline(always)]
    fn full(&self) -> Addr<SharedCta> {
        self.base.offset(R::STRIDE * R::STAGES + self.cursor.index() * MBARRIER)
    }

    /// Takes the next stage, whose phase was observed, and goes on.
    #[inline(always)]
    fn take(&mut self) -> Slot<'k, Tag, R, S, Full> {
        let slot = Slot::new(self.base, self.cursor.index(), self.cursor.filled());
        self.cursor.advance();
        slot
    }

    /// Asks once whether the next stage has been filled: one `try_wait`, whose answer the attempt holds (rule
    /// C5).
    ///
    /// For one thread: the threads of a larger set could get different answers.
    #[inline(always)]
    pub fn try_wait<T: SameSet<S> + SingleThread>(
        &mut self,
        set: &mut T,
    ) -> Attempt<'_, 'k, Tag, R, S, N> {
        let attempt =
            Attempt { consumer: self, complete: false, state: PhantomData, stays: PhantomData };
        attempt.try_wait(set)
    }
}

/// The answer of one `try_wait` for a consumer's next stage.
///
/// It borrows the consumer, whose cursor goes on only when the stage is taken: an attempt that is thrown away
/// leaves the ring as it was.
pub struct Attempt<'a, 'k, Tag, R, S, const N: u32, State = Polled> {
    consumer: &'a mut Consumer<'k, Tag, R, S, N>,
    complete: bool,
    state: Marks<State>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, R: Ring, S: Set, const N: u32> Attempt<'_, 'k, Tag, R, S, N> {
    /// The stage if the last `try_wait` said that its phase has completed, else the question again.
    #[inline(always)]
    pub fn completed(
        self, // C5: the answer is used once
    ) -> Result<Slot<'k, Tag, R, S, Full>, Self> {
        if self.complete { Ok(self.consumer.take()) } else { Err(self) }
    }

    /// Asks again.
    #[inline(always)]
    pub fn try_wait<T: SameSet<S>>(mut self, set: &mut T) -> Self {
        let _ = set;
        let (full, phase) = (self.consumer.full(), self.consumer.cursor.filled());
        // SAFETY: the ring's barrier, initialised by the claim.
        self.complete = unsafe {
            if R::PEERS == 1 {
                ptx::mbarrier::try_wait_parity::<Acquire, CtaScope>(full, phase)
            } else {
                ptx::mbarrier::try_wait_parity::<Acquire, Cluster>(full, phase)
            }
        };
        self
    }
}

impl<Tag, R: Ring, S: Set, const N: u32, State> Attempt<'_, '_, Tag, R, S, N, State> {
    /// An element of the stage, once it is known to be filled: which no state of this type says (rule C5).
    #[inline(always)]
    pub fn get(&self, index: u32) -> <R::Data as Elements>::Element
    where
        State: PollConfirmed,
        R::Data: Elements,
    {
        let _ = index;
        unreachable!()
    }
}

impl<Tag, R: Ring, S, State> sealed::Sealed for Slot<'_, Tag, R, S, State> {}
impl<Tag, R: Ring, S: Set, State> HandBack<S> for Slot<'_, Tag, R, S, State>
where
    State: PollConfirmed + ReadsEnded + HandsBackTo<R::Fill>,
{
    #[inline(always)]
    unsafe fn arrival(self) -> impl FnOnce() {
        let empty = self.empty();
        self.hand.settle();
        move || {
            let arrivals = R::Drain::ARRIVALS;
            let mut rank = 0;
            while rank < R::PEERS {
                // SAFETY: the ring's empty barrier, which expects these arrivals of each CTA a phase. A peer's lies at the same
                // place, and no CTA has ended, since the exit waits for all.
                unsafe {
                    match (R::PEERS, arrivals) {
                        (1, 1) => _ = ptx::mbarrier::arrive::<Release, CtaScope>(empty),
                        (1, _) => {
                            _ = ptx::mbarrier::arrive_count::<Release, CtaScope>(empty, arrivals)
                        }
                        (_, 1) => {
                            let peer = ptx::shared::mapa(empty, rank);
                            ptx::mbarrier::arrive_remote::<Release, Cluster>(peer);
                        }
                        _ => {
                            let peer = ptx::shared::mapa(empty, rank);
                            ptx::mbarrier::arrive_count_remote::<Release, Cluster>(peer, arrivals);
                        }
                    }
                }
                rank += 1;
            }
        }
    }
}

impl<'k, Tag, R: Ring, S: Set, State> Slot<'k, Tag, R, S, State> {
    /// Begins the bulk copies that fill the stage, and makes the full barrier expect their bytes.
    ///
    /// # PTX
    /// `mbarrier.arrive.expect_tx` with the bytes of the tiles (rule C8), then one
    /// `cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes` for each panel. PTX 8.0,
    /// sm_90 (ISA 9.7.9.25.5).
    #[inline(always)]
    pub fn load<T, Source>(
        self, // B6: the stage belongs to the copies now
        thread: &mut T,
        from: Source,
    ) -> Loaded<'k, Tag, R, S>
    where
        T: SameSet<S> + SingleThread,
        State: Writable,
        Source: Fills<R::Data>,
        R: Ring<Fill = ByBulk>,
    {
        let _ = thread;
        let (data, full) = (self.data(), self.full());
        // SAFETY: one thread announces the bytes of this phase and begins exactly the copies that deliver them;
        // the stage was handed back, so nobody reads it, and its readers ran their proxy fence or were the async
        // proxy's own.
        unsafe {
            ptx::mbarrier::arrive_expect_tx::<Release, CtaScope>(full, Source::BYTES);
            from.begin(data, full);
        }
        self.hand.settle();
        Loaded { brand: PhantomData, field: PhantomData, stays: PhantomData }
    }

    /// Writes every element: `value(i)` is asked for each index that this thread owns (thread `r` of a set of
    /// `n` owns `r`, `r + n`, …; rule A13).
    #[inline(always)]
    pub fn fill<T>(
        self,
        set: &mut T,
        mut value: impl FnMut(u32) -> <R::Data as Elements>::Element,
    ) -> Slot<'k, Tag, R, S, Written>
    where
        T: SameSet<S>,
        State: Writable + CopiesLanded,
        R::Data: Elements,
        R: Ring<Fill = ByThreads>,
    {
        let (data, rank) = (self.data(), set.rank());
        each_own::<T>(rank, <R::Data as Elements>::LEN, |index| {
            // SAFETY: in range, this thread's own element, and the stage is this set's to write.
            unsafe { write(data.offset(R::Data::byte_offset(index)), value(index)) };
        });
        self.become_state()
    }

    /// Begins to copy every element from global memory, 16 bytes at a time, each by the thread that owns it (thread `r` of a
    /// set of `n` owns chunks `r`, `r + n`, …). `from(i)` is the index in `source` of the chunk whose first element is `i`; it
    /// traps when that is not on a 16-byte boundary of the array's, or the chunk is not all in it.
    ///
    /// # PTX
    /// `cp.async.cg.shared::cta.global` for each chunk, then `cp.async.commit_group`, PTX 7.0, sm_80 (ISA *cp.async*).
    #[inline(always)]
    pub fn copy<T, W>(
        self, // B8: the stage comes back from `wait_copies`
        set: &mut T,
        source: ReadOnly<<R::Data as Elements>::Element, W>,
        mut from: impl FnMut(u32) -> u64,
    ) -> Slot<'k, Tag, R, S, Copying>
    where
        T: SameSet<S>,
        State: Untouched + CopiesLanded,
        R::Data: Elements,
        R: Ring<Fill = ByThreads>,
    {
        let chunk = const {
            let chunk = 16 / size_of::<<R::Data as Elements>::Element>() as u32;
            require(
                <R::Data as Elements>::LEN % chunk == 0 && <R::Data as Elements>::CHUNKED,
                "a stage that `cp.async` fills is a multiple of 16 bytes",
            );
            chunk
        };
        let (data, rank) = (self.data(), set.rank());
        each_own::<T>(rank, <R::Data as Elements>::LEN / chunk, |number| {
            let index = number * chunk;
            let src = source.chunk(from(index), chunk);
            // SAFETY: 16 bytes of the stage, which the swizzle keeps together, and of the array, both on their boundary; the
            // array is not written during the launch; the chunk is this thread's own until it has waited.
            unsafe { ptx::cp_async::cp_async_cg(data.offset(R::Data::byte_offset(index)), src) };
        });
        ptx::cp_async::commit_group();
        self.become_state()
    }

    /// Waits until this thread's copies have landed: each thread of the set waits for its own.
    ///
    /// # PTX
    /// `cp.async.wait_group 0`, PTX 7.0, sm_80 (ISA *cp.async.wait_group*). The barrier of `sync` or `publish` makes the
    /// other threads' copies visible.
    #[inline(always)]
    pub fn wait_copies<T>(self, set: &mut T) -> Slot<'k, Tag, R, S, Copied>
    where
        T: SameSet<S>,
        State: CopiesUnderWay,
    {
        let _ = set;
        ptx::cp_async::wait_group::<0>();
        self.become_state()
    }

    /// The set's barrier, after which each of its threads may read what the others wrote (rule A13).
    #[inline(always)]
    pub fn sync<T>(self, set: &mut T) -> Slot<'k, Tag, R, S, Synced>
    where
        T: SameSet<S>,
        State: HasContents + CopiesLanded + OpensToTheSet,
    {
        set.barrier();
        self.become_state()
    }

    /// `fence.proxy.async` in each thread of the set: orders its ordinary accesses to the stage before the async
    /// proxy's (rules B1, B2).
    ///
    /// # PTX
    /// `fence.proxy.async.shared::cta`, PTX 8.0, sm_90 (ISA 9.7.13.4).
    #[inline(always)]
    pub fn fence_proxy_async<T, Fenced>(self, set: &mut T) -> Slot<'k, Tag, R, S, Fenced>
    where
        T: SameSet<S>,
        State: ProxyFence<Fenced>,
    {
        let _ = set;
        ptx::fence::fence_proxy_async_in::<SharedCta>();
        self.become_state()
    }

    /// One `fence.proxy.async` in each thread of the set for this stage and for a staging buffer: a fence orders all accesses of
    /// its thread (rules B1, B2).
    ///
    /// # PTX
    /// `fence.proxy.async.shared::cta`, PTX 8.0, sm_90 (ISA 9.7.13.4).
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn fence_proxy_async_with<T, Fenced, Other, D, Before, After>(
        self,
        set: &mut T,
        staging: StagingBuffer<'k, Other, D, S, Before>,
    ) -> (Slot<'k, Tag, R, S, Fenced>, StagingBuffer<'k, Other, D, S, After>)
    where
        T: SameSet<S>,
        D: BulkTile,
        State: ProxyFence<Fenced>,
        Before: ProxyFence<After>,
    {
        let _ = set;
        ptx::fence::fence_proxy_async_in::<SharedCta>();
        (self.become_state(), staging.become_state())
    }

    /// Hands the filled stage to the consumer.
    ///
    /// # PTX
    /// The set's barrier, then `mbarrier.arrive.release.cta.shared::cta.b64` by one lane (ISA 9.7.13.15.13).
    #[inline(always)]
    pub fn publish<T>(
        self, // A9: the stage is the consumer's now
        set: &mut T,
    ) where
        T: SameSet<S>,
        State: HasContents + CopiesLanded + HandsOnTo<R::Drain>,
        R: Ring<Fill = ByThreads>,
    {
        // SAFETY: the ring's full barrier, which expects one arrival a phase; this stage's, by the slot.
        unsafe { arrive_for_the_set(set, self.full()) };
        self.hand.settle();
    }

    /// Element `index` of the stage. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u32) -> <R::Data as Elements>::Element
    where
        State: PollConfirmed
            + CopiesLanded
            + FillCompleted
            + Acquired
            + VisibleToTheSet
            + ReadsUnfenced
            + ThreadsReadWhereDrained<R::Drain>,
        R::Data: Elements,
    {
        check(index < <R::Data as Elements>::LEN);
        // SAFETY: in range; the state says that the contents are complete and visible, and that nobody writes.
        unsafe { read(self.data().offset(R::Data::byte_offset(index))) }
    }

    /// `N` neighbouring elements from `index` on. Traps when they are not all in the stage, or `index` is not on a 16-byte
    /// boundary.
    ///
    /// # PTX
    /// `ld.shared.v4.b32` for each 16 bytes (ISA 9.7.9.8).
    #[inline(always)]
    pub fn get_chunk<const N: usize>(&self, index: u32) -> [<R::Data as Elements>::Element; N]
    where
        State: PollConfirmed
            + CopiesLanded
            + FillCompleted
            + Acquired
            + VisibleToTheSet
            + ReadsUnfenced
            + ThreadsReadWhereDrained<R::Drain>,
        R::Data: Elements,
    {
        let per_chunk = const {
            let size = size_of::<<R::Data as Elements>::Element>();
            require(
                N > 0 && (N * size) % 16 == 0 && N <= <R::Data as Elements>::LEN as usize,
                "rule D14: a thread reads a stage in steps of 16 bytes, at most all of it",
            );
            require(
                <R::Data as Elements>::CHUNKED,
                "rule D14: the first of two parts of a stage is a multiple of 16 bytes, where threads read it in such steps",
            );
            16 / size
        };
        let last = const { <R::Data as Elements>::LEN - N as u32 };
        check(index <= last && index % (per_chunk as u32) == 0);
        let mut words = [0; 4];
        core::array::from_fn(|i| {
            if i % per_chunk == 0 {
                let at = self.data().offset(R::Data::byte_offset(index + i as u32));
                // SAFETY: in range, as in `get`; both orders of elements keep 16 bytes together, aligned.
                words = unsafe { read_chunk(at) };
            }
            unpack(&words, i % per_chunk)
        })
    }

    /// Hands the stage, read by threads, back to the producer.
    ///
    /// # PTX
    /// The set's barrier, then `mbarrier.arrive.release.cta.shared::cta.b64` by one lane (ISA 9.7.13.15.13); where `wgmma` has
    /// read it, by one lane of each warp, without a barrier of the set. Where peers fill the stage too,
    /// `mbarrier.arrive.release.cluster.shared::cluster.b64 _` on the barrier of each (rules C7, C11).
    #[inline(always)]
    pub fn release<T>(
        self, // A9: the stage is the producer's now
        set: &mut T,
    ) where
        T: SameSet<S>,
        State: PollConfirmed + ReadsEnded + HandsBackTo<R::Fill>,
    {
        if R::PEERS == 1 && T::THREADS == R::Drain::ARRIVALS * WARP {
            // SAFETY: all lanes of the warp have waited for the stage when one arrives; what the warps of the set have to do with
            // one another is to arrive all.
            unsafe { ptx::barrier::bar_warp_sync(u32::MAX) };
            if ptx::sreg::laneid() == 0 {
                // SAFETY: the ring's empty barrier expects one arrival of each warp a phase; this stage's, by the slot.
                unsafe { ptx::mbarrier::arrive::<Release, CtaScope>(self.empty()) };
            }
            self.hand.settle();
        } else {
            set.barrier();
            // SAFETY: the set's barrier stands before.
            set.lead(unsafe { self.arrival() });
        }
    }

    /// Hands the stage back to the producer once the matrix instructions that read it have completed.
    ///
    /// # PTX
    /// `tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64`, PTX 8.6, sm_100a (ISA 9.7.16.10.1); with
    /// `.multicast::cluster` where peers fill the stage too.
    #[inline(always)]
    pub fn release_by_commit<T>(
        self, // D6: only the commit hands the stage back
        thread: &mut T,
    ) where
        T: SameSet<S> + SingleThread,
        State: ReadByMatrix,
    {
        let _ = thread;
        use ptx::tcgen05::{Group1, commit, commit_multicast};
        // SAFETY: the empty barrier expects one arrival of each CTA a phase, and the commit makes it, in every CTA that fills
        // the stage, when every matrix instruction that this thread has issued, those that read the stage included, has
        // completed.
        unsafe {
            if R::PEERS == 1 {
                commit::<Group1, SharedCta>(self.empty());
            } else {
                commit_multicast::<Group1>(self.empty().in_cluster(), all_peers(R::PEERS));
            }
        }
        self.hand.settle();
    }

    /// Skips the fence of rule B2.
    ///
    /// # Safety
    /// 1. The caller takes the reading of the memory model under which the set's loads are ordered before the
    ///    later writes of the async proxy by the hand-over alone: each load has returned its value before the
    ///    arrival, and the copy begins only after the wait.
    #[inline(always)]
    pub unsafe fn assume_reads_ordered(self) -> Slot<'k, Tag, R, S, crate::path::ReadFenced>
    where
        State: ProxyFence<crate::path::ReadFenced>,
    {
        self.become_state()
    }
}

/// A stage whose bulk copies are under way. It comes back through the consumer's end; nothing is left to do
/// with it here.
pub struct Loaded<'k, Tag, R, S, State = Filling> {
    brand: Brand<'k>,
    field: Marks<(Tag, R, S, State)>,
    stays: StaysWithItsThreads,
}

impl<Tag, R: Ring, S: Set, State> Loaded<'_, Tag, R, S, State> {
    /// An element of the stage, once the copies have completed: which no state of this type says (rule B6).
    #[inline(always)]
    pub fn get(&self, index: u32) -> <R::Data as Elements>::Element
    where
        State: FillCompleted,
        R::Data: Elements,
    {
        let _ = index;
        unreachable!()
    }
}

/// The CTAs of ranks 0 to `ctas - 1`, as the mask of a multicast.
#[inline(always)]
const fn all_peers(ctas: u32) -> u16 {
    ((1u32 << ctas) - 1) as u16
}

/// What can fill a stage of `D`: tiles of exactly its types.
///
/// # Safety
/// `begin` starts bulk copies that, together with those of the peers that fill the stage too, deliver exactly `BYTES` bytes
/// into the stage and onto the barrier of each.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill a stage of `{D}`",
    label = "other tiles than the stage's",
    note = "rule C8: the barrier expects the bytes of the stage's tiles, so exactly those tiles are loaded (PTX ISA 9.7.13.15.5)",
    note = "take the tiles from tensor maps of the stage's tile types, in the stage's order: `(a.at(row, col), b.at(row, col))`"
)]
pub unsafe trait Fills<D> {
    /// Bytes that the copies deliver.
    const BYTES: u32;
    /// # Safety
    /// 1. `data` is a stage of `D` that nobody else touches.
    /// 2. `barrier` expects `BYTES` in its current phase.
    #[doc(hidden)]
    unsafe fn begin(self, data: Addr<SharedCta>, barrier: Addr<SharedCta>);
}

// SAFETY: one copy of a whole box for each panel; a box delivers all its bytes, outside the matrix too.
unsafe impl<T, const ROWS: usize, const COLS: usize> Fills<Tile<T, ROWS, COLS>>
    for TileAt<Tile<T, ROWS, COLS>>
where
    Tile<T, ROWS, COLS>: BulkTile,
{
    const BYTES: u32 = <Tile<T, ROWS, COLS> as BulkTile>::BYTES;
    #[inline(always)]
    unsafe fn begin(self, data: Addr<SharedCta>, barrier: Addr<SharedCta>) {
        type This<T, const R: usize, const C: usize> = Tile<T, R, C>;
        let panel_bytes = <This<T, ROWS, COLS> as BulkTile>::BYTES / This::<T, ROWS, COLS>::PANELS;
        let mut panel = 0;
        while panel < This::<T, ROWS, COLS>::PANELS {
            let col = self.col + (panel * This::<T, ROWS, COLS>::PANEL_COLS) as i32;
            // SAFETY: the caller's promise; the panel lies in the stage, and a CTA's own shared memory is part of the
            // cluster's under the same addresses.
            unsafe {
                ptx::tensor::cp_async_bulk_tensor_to_shared(
                    Addr::<SharedCluster>::from_raw(data.offset(panel * panel_bytes).raw()),
                    Addr::from_raw(self.map),
                    [col, self.row],
                    Addr::<SharedCluster>::from_raw(barrier.raw()),
                )
            };
            panel += 1;
        }
    }
}

// SAFETY: each CTA copies its share of the rows into every CTA, so that each gets the whole tile; a box delivers all its
// bytes, outside the matrix too.
#[diagnostic::do_not_recommend]
unsafe impl<T, const SHARE: usize, const ROWS: usize, const COLS: usize, const CTAS: u32>
    Fills<ToAll<Tile<T, ROWS, COLS>, CTAS>> for TileAt<Tile<T, SHARE, COLS>>
where
    Tile<T, ROWS, COLS>: BulkTile,
    Tile<T, SHARE, COLS>: BulkTile,
{
    const BYTES: u32 = {
        require(
            SHARE * CTAS as usize == ROWS,
            "rule C8: the barrier expects the bytes of the whole tile, so each CTA loads `ROWS / CTAS` of its rows: take the tensor map of a \
             tile of that many",
        );
        <Tile<T, ROWS, COLS> as BulkTile>::BYTES
    };
    #[inline(always)]
    unsafe fn begin(self, data: Addr<SharedCta>, barrier: Addr<SharedCta>) {
        type This<T, const R: usize, const C: usize> = Tile<T, R, C>;
        let panel_bytes = <This<T, ROWS, COLS> as BulkTile>::BYTES / This::<T, ROWS, COLS>::PANELS;
        let first = ptx::sreg::cluster_ctarank() * SHARE as u32;
        let data = data.offset(first * crate::tile::PANEL_ROW_BYTES as u32);
        let mut panel = 0;
        while panel < This::<T, ROWS, COLS>::PANELS {
            let col = self.col + (panel * This::<T, ROWS, COLS>::PANEL_COLS) as i32;
            // SAFETY: the caller's promise, in each of the CTAs: the ring lies at the same place in all, and every peer has
            // released the stage.
            unsafe {
                ptx::tensor::cp_async_bulk_tensor_multicast(
                    data.offset(panel * panel_bytes).in_cluster(),
                    Addr::from_raw(self.map),
                    [col, self.row + first as i32],
                    barrier.in_cluster(),
                    all_peers(CTAS),
                )
            };
            panel += 1;
        }
    }
}

// SAFETY: each half fills its own part of the pair.
unsafe impl<A, B, DA: StageData, DB: StageData> Fills<(DA, DB)> for (A, B)
where
    A: Fills<DA>,
    B: Fills<DB>,
{
    const BYTES: u32 = A::BYTES + B::BYTES;
    #[inline(always)]
    unsafe fn begin(self, data: Addr<SharedCta>, barrier: Addr<SharedCta>) {
        // SAFETY: the caller's promise; the second half stands behind the first on its alignment.
        unsafe {
            self.0.begin(data, barrier);
            self.1.begin(data.offset(DA::BYTES.next_multiple_of(DB::ALIGN)), barrier);
        }
    }
}

impl<'k, Tag, R: Ring, S: Set> Slot<'k, Tag, R, S, Full> {
    /// Matrix instructions that read the stage have been issued.
    ///
    /// # Safety
    /// They were issued by this thread, and it commits them before anything else hands the stage back.
    #[inline(always)]
    pub(crate) unsafe fn read_by_mma(self) -> Slot<'k, Tag, R, S, ReadByMma> {
        self.become_state()
    }
}
