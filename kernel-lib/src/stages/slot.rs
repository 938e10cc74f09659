//! One stage while one side holds it, and what each state of it allows.

use core::marker::PhantomData;

use crate::dropped::{Hand, StageSlot};
use crate::global::ReadOnly;
use crate::pair::{leader, leads};
use crate::path::{
    Acquired, Copied, CopiesLanded, CopiesUnderWay, Copying, FillCompleted, Filling, HandsBackTo,
    HandsOnTo, HasContents, OpensToTheSet, PollConfirmed, ProxyFence, ReadByMatrix, ReadByMma,
    ReadFenced, ReadableByMma, ReadsEnded, ReadsUnfenced, Synced, ThreadsReadWhereDrained,
    Untouched, VisibleToTheSet, Writable, Written,
};
use crate::peers;
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::tcgen05::{Group1, Group2};
use crate::require;
use crate::scope::{Cluster, Cta as CtaScope};
use crate::sem::{Relaxed, Release};
use crate::shared_access::{check, read, read_chunk, unpack_all, write};
use crate::staging::{GoesBack, HandBack, StagingBuffer};
use crate::tile::{BulkTile, Elements};
use crate::token::{Brand, Marks, SameSet, Set, SingleThread, StaysWithItsThreads, WARP, sealed};

use super::{ByBulk, ByThreads, Drain, Fills, MBARRIER, Ring, all_peers, arrive_for_the_set};

/// The one arrival of a phase, which announces the bytes of its copies.
///
/// Those of other CTAs may complete before it does. Then they reach the waiters through it, since what follows a release is part of it
/// only as far as scopes include both sides (ISA 8.9.2, 8.9.3): so it is one of the cluster there. It need not release, since the copies do, and
/// a release of that scope is dear.
///
/// # Safety
/// The calling thread is the only one that arrives in this phase (I11), and the copies of these bytes complete in it (I12).
#[inline(always)]
unsafe fn expect<R: Ring>(full: Addr<SharedCta>, bytes: u32) {
    // SAFETY: passed on; the barrier is the ring's, initialised by the claim (I6).
    unsafe {
        if R::CTAS == 1 {
            ptx::mbarrier::arrive_expect_tx::<Release, CtaScope>(full, bytes);
        } else {
            ptx::mbarrier::arrive_expect_tx::<Relaxed, Cluster>(full, bytes);
        }
    }
}

/// What fills a stage next that threads hand back.
type Refill<R> = <<R as Ring>::Drain as Drain>::Refill<<R as Ring>::Fill>;

/// One stage, held by one side, in a state of [`crate::path`].
#[must_use = "a stage that is not handed on stops the ring"]
pub struct Slot<'k, Tag, R, S, State> {
    base: Addr<SharedCta>,
    index: u32,
    hand: Hand<StageSlot>,
    brand: Brand<'k>,
    field: Marks<(Tag, R, S, State)>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, R: Ring, S: Set, State> Slot<'k, Tag, R, S, State> {
    #[inline(always)]
    pub(super) fn new(base: Addr<SharedCta>, index: u32) -> Self {
        Slot {
            base,
            index,
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
        Slot::new(self.base, self.index)
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
}

/// A stage in a set's hands, in whatever state: what matrix instructions are given to read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a stage that was handed out",
    label = "not a stage",
    note = "rules B6 and C5: matrix instructions read a stage whose phase was observed: a wait that succeeded hands it out (PTX ISA \
            9.7.9.25.2, 9.7.13.15.16)",
    note = "take the stage from the consumer's end: `consumer.wait(&mut set)`, or `attempt.completed()` where `try_wait` returned true"
)]
pub trait HeldStage<'k>: sealed::Sealed {
    /// The tag of the ring's field.
    type Tag;
    /// The ring.
    type Ring: Ring;
    /// The set that holds the stage.
    type Set: Set;
    /// What was done with it last.
    type State;
    #[doc(hidden)]
    fn slot(self) -> Slot<'k, Self::Tag, Self::Ring, Self::Set, Self::State>;
}

#[diagnostic::do_not_recommend]
impl<'k, Tag, R: Ring, S: Set, State> HeldStage<'k> for Slot<'k, Tag, R, S, State> {
    type Tag = Tag;
    type Ring = R;
    type Set = S;
    type State = State;
    #[inline(always)]
    fn slot(self) -> Self {
        self
    }
}

impl<'k, Tag, R: Ring, S: Set, State: ReadableByMma> Slot<'k, Tag, R, S, State> {
    /// Matrix instructions that read the stage have been issued.
    ///
    /// # Safety
    /// They were issued by this thread, and it commits them before anything else hands the stage back.
    #[inline(always)]
    pub(crate) unsafe fn read_by_mma(self) -> Slot<'k, Tag, R, S, ReadByMma> {
        self.become_state()
    }
}

impl<'k, Tag, R: Ring, S: Set, State> Slot<'k, Tag, R, S, State> {
    /// Begins the bulk copies that fill the stage, and makes the full barrier expect their bytes.
    ///
    /// # PTX
    /// `mbarrier.arrive.expect_tx` with the bytes of the tiles (rule C8), `.release.cta`, or `.relaxed.cluster` where copies of other CTAs
    /// complete at the same barrier (rule C7); then one
    /// `cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes` for each panel. PTX 8.0,
    /// sm_90 (ISA 9.7.9.25.5). Where a pair drains, with `.cta_group::2` and the barrier of the CTA that leads, which alone makes it expect
    /// the bytes of both; PTX 8.6, sm_100a.
    #[inline(always)]
    pub fn load<T, Source>(
        self, // B6: the stage belongs to the copies now; take the next one from `acquire`
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
        // SAFETY: one thread announces the bytes of this phase and begins exactly the copies that deliver them (I11, I12);
        // the stage was handed back, so nobody reads it (I13), and its readers ran their proxy fence or were the async
        // proxy's own (I17). It is the copies' until the phase was observed (I18). Of a pair the leader announces the bytes of both, and
        // what the other copies before that belongs to the same phase, since the last one ended before either got its part back (I12);
        // neither CTA has ended, since its producer's `finish` waits until its parts have come back (I22).
        unsafe {
            if R::Drain::PAIR {
                if leads() {
                    expect::<R>(full, 2 * Source::BYTES);
                }
                let leader = if R::CTAS == 2 { 0 } else { leader() };
                from.begin::<Group2>(data, ptx::shared::mapa(full, leader));
            } else {
                expect::<R>(full, Source::BYTES);
                from.begin::<Group1>(data, full.in_cluster());
            }
        }
        self.hand.settle();
        Loaded { brand: PhantomData, field: PhantomData, stays: PhantomData }
    }

    /// Writes every element: `value(i)` is asked for each index that this thread owns (thread `r` of a set of
    /// `n` owns `r`, `r + n`, …; rule A13).
    #[inline(always)]
    pub fn fill<T>(
        self, // A9: the stage is written; go on with the one that this returns
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
            // SAFETY: in range, this thread's own element (I16), and the stage is this set's to write (I13, I14).
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
        self, // B8: the copies have the stage; go on with what `wait_copies` returns
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
                "rule D14: a stage that `cp.async` fills is a multiple of 16 bytes: round its length",
            );
            chunk
        };
        let (data, rank) = (self.data(), set.rank());
        each_own::<T>(rank, <R::Data as Elements>::LEN / chunk, |number| {
            let index = number * chunk;
            let src = source.chunk(from(index), chunk);
            // SAFETY: 16 bytes of the stage, which the swizzle keeps together, and of the array, both on their boundary; the
            // array is not written during the launch (I24); the chunk is this thread's own (I16), and the copies' until it has
            // waited (I14, I18).
            unsafe { ptx::cp_async::cp_async_cg(data.offset(R::Data::byte_offset(index)), src) };
        });
        ptx::mark::commit_copies();
        self.become_state()
    }

    /// Waits until this thread's copies have landed: each thread of the set waits for its own.
    ///
    /// # PTX
    /// `cp.async.wait_group 0`, PTX 7.0, sm_80 (ISA *cp.async.wait_group*). The barrier of `sync` or `publish` makes the
    /// other threads' copies visible.
    #[inline(always)]
    pub fn wait_copies<T>(
        self, // B8: the copies have landed; go on with the stage that this returns
        set: &mut T,
    ) -> Slot<'k, Tag, R, S, Copied>
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
    pub fn sync<T>(
        self, // A13: the set's barrier is behind; go on with the stage that this returns
        set: &mut T,
    ) -> Slot<'k, Tag, R, S, Synced>
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
    /// `fence.proxy.async.shared::cta`, PTX 8.0, sm_90 (ISA 9.7.13.4). Nothing where peers fill the stage too: the fence that
    /// [`release`](Self::release) runs in one thread is cumulative over the set's reads.
    #[inline(always)]
    pub fn fence_proxy_async<T>(
        self, // B1, B2: the accesses are fenced; go on with the stage that this returns
        set: &mut T,
    ) -> Slot<'k, Tag, R, S, State::Fenced>
    where
        T: SameSet<S>,
        State: ProxyFence,
    {
        let _ = set;
        if R::PEERS == 1 {
            ptx::fence::fence_proxy_async_in::<SharedCta>();
        }
        self.become_state()
    }

    /// One `fence.proxy.async` in each thread of the set for this stage and for a staging buffer: a fence orders all accesses of
    /// its thread (rules B1, B2).
    ///
    /// # PTX
    /// `fence.proxy.async.shared::cta`, PTX 8.0, sm_90 (ISA 9.7.13.4).
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn fence_proxy_async_with<T, Other, D, Before, const N: u32>(
        self, // B1, B2: the accesses are fenced; go on with what this returns
        set: &mut T,
        staging: StagingBuffer<'k, Other, D, S, Before, N>,
    ) -> (Slot<'k, Tag, R, S, State::Fenced>, StagingBuffer<'k, Other, D, S, Before::Fenced, N>)
    where
        T: SameSet<S>,
        D: BulkTile,
        State: ProxyFence,
        Before: ProxyFence,
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
        self, // A9: the stage is the consumer's now; take the next one from `acquire`
        set: &mut T,
    ) where
        T: SameSet<S>,
        State: HasContents + CopiesLanded + HandsOnTo<R::Drain>,
        R: Ring<Fill = ByThreads>,
    {
        // SAFETY: the ring's full barrier, which expects one arrival a phase (I11); this stage's, by the slot, which is consumed (I13).
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
        // SAFETY: in range; the state says that the contents are complete and visible, and that nobody writes (I13, I14, I15).
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
                "rule D14: a thread reads a stage in steps of 16 bytes, at most all of it: choose `N` so",
            );
            require(
                <R::Data as Elements>::CHUNKED,
                "rule D14: the first of two parts of a stage is a multiple of 16 bytes, where threads read it in such steps: \
                 round its length, or read with `get`",
            );
            16 / size
        };
        let last = const { <R::Data as Elements>::LEN - N as u32 };
        check(index <= last && index % (per_chunk as u32) == 0);
        unpack_all(|byte| {
            let i = (byte / size_of::<<R::Data as Elements>::Element>()) as u32;
            // SAFETY: in range, as in `get` (I13, I14, I15); both orders of elements keep 16 bytes together, aligned.
            unsafe { read_chunk(self.data().offset(R::Data::byte_offset(index + i))) }
        })
    }

    /// Hands the stage, read by threads, back to the producer.
    ///
    /// # PTX
    /// The set's barrier, then `mbarrier.arrive.release.cta.shared::cta.b64` by one lane (ISA 9.7.13.15.13); where `wgmma` has
    /// read it, by one lane of each warp, without a barrier of the set. Where peers fill the stage too,
    /// `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster`, where `wgmma` has read it also
    /// `fence.release.sync_restrict::shared::cta.cluster`, and `mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _` on the barrier of
    /// each (rules C7, C11); PTX 8.6, sm_90. Where a pair drains, a stage that
    /// it does not multiply goes back by `fence.release.cluster`, which is dear, and `mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _`
    /// on the barriers of both.
    #[inline(always)]
    pub fn release<T>(
        self, // A9: the stage is the producer's now; take the next one from `wait`
        set: &mut T,
    ) where
        T: SameSet<S>,
        State: PollConfirmed + ReadsEnded + HandsBackTo<Refill<R>>,
    {
        if R::PEERS == 1 && T::THREADS == R::Drain::ARRIVALS * WARP {
            set.agree_on(self.empty().raw());
            // SAFETY: all lanes of the warp are here, since whole warps are in the set (I1, I2), and have waited for the stage when one
            // arrives; what the warps of the set have to do with one another is to arrive all.
            unsafe { ptx::barrier::bar_warp_sync(u32::MAX) };
            if ptx::sreg::laneid() == 0 {
                // SAFETY: the ring's empty barrier expects one arrival of each warp a phase (I11); this stage's, by the slot.
                unsafe { ptx::mbarrier::arrive::<Release, CtaScope>(self.empty()) };
            }
            self.hand.settle();
        } else {
            set.barrier_for(self.empty().raw());
            // SAFETY: the set's barrier stands before (I13).
            set.lead(unsafe { self.arrival() });
        }
    }

    /// Hands the stage back to the producer once the matrix instructions that read it have completed.
    ///
    /// # PTX
    /// `tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64`, PTX 8.6, sm_100a (ISA 9.7.16.10.1); with
    /// `.multicast::cluster` where peers fill the stage too, and with `.cta_group::2` where a pair drains, which gets both parts back.
    #[inline(always)]
    pub fn release_by_commit<T>(
        self, // D6, D16: the commit hands the stage back; take the next one from `wait`
        thread: &mut T,
    ) where
        T: SameSet<S> + SingleThread,
        State: ReadByMatrix,
    {
        let _ = thread;
        // SAFETY: the empty barrier expects this one arrival of each CTA a phase (I11); the matrix instructions that read the stage are
        // this thread's (I14, I19).
        unsafe { commit_to_empty::<R>(self.empty()) };
        self.hand.settle();
    }

    /// Skips the fence of rule B2.
    ///
    /// # Safety
    /// 1. The caller takes the reading of the memory model under which the set's loads are ordered before the
    ///    later writes of the async proxy by the hand-over alone: each load has returned its value before the
    ///    arrival, and the copy begins only after the wait.
    #[inline(always)]
    pub unsafe fn assume_reads_ordered(
        self, // B2: go on with the stage that this returns
    ) -> Slot<'k, Tag, R, S, ReadFenced>
    where
        State: ProxyFence<Fenced = ReadFenced>,
    {
        self.become_state()
    }
}

impl<Tag, R: Ring, S, State> sealed::Sealed for Slot<'_, Tag, R, S, State> {}
impl<Tag, R: Ring, S: Set, State> GoesBack for Slot<'_, Tag, R, S, State> {
    #[inline(always)]
    fn barrier(&self) -> Addr<SharedCta> {
        self.empty()
    }
}
impl<Tag, R: Ring, S: Set, State> HandBack<S> for Slot<'_, Tag, R, S, State>
where
    State: PollConfirmed + ReadsEnded + HandsBackTo<Refill<R>>,
{
    #[inline(always)]
    unsafe fn arrival(self) -> impl FnOnce() {
        let empty = self.empty();
        self.hand.settle();
        move || {
            if R::Drain::PAIR {
                // Also what lies in the peer's memory, which no fence of this CTA's own covers (rule F9).
                ptx::fence::fence_release::<Cluster>();
                let mut rank = 0;
                while rank < R::CTAS {
                    // SAFETY: the empty barriers of all expect one arrival of each pair a phase (I11), and the CTA that leads it, in which
                    // alone there are such stages, makes it: it has observed the copies of both, and no instruction reads what they
                    // filled (I13). No CTA has ended, since its producer's `finish` waits for this (I22).
                    unsafe {
                        ptx::mbarrier::arrive_remote::<Relaxed, Cluster>(ptx::shared::mapa(
                            empty, rank,
                        ));
                    }
                    rank += 1;
                }
                return;
            }
            let arrivals = R::Drain::ARRIVALS;
            if R::PEERS > 1 {
                // What was read lies in this CTA's memory, so that fences of that are enough, once for all peers. The first is towards
                // their copies; of what `wgmma` has read, whose end the text may count as a release already, the second passes on that.
                peers::release_reads_to_copies();
                if !R::Drain::GENERIC {
                    peers::release_own();
                }
            }
            let mut rank = 0;
            while rank < R::PEERS {
                // SAFETY: the ring's empty barrier, which expects these arrivals of each CTA a phase (I11). A peer's lies at the same
                // place (I7), and no CTA has ended, since the exit waits for all (I22).
                unsafe {
                    match (R::PEERS, arrivals) {
                        (1, 1) => _ = ptx::mbarrier::arrive::<Release, CtaScope>(empty),
                        (1, _) => {
                            _ = ptx::mbarrier::arrive_count::<Release, CtaScope>(empty, arrivals)
                        }
                        (_, 1) => {
                            let peer = ptx::shared::mapa(empty, rank);
                            ptx::mbarrier::arrive_remote::<Relaxed, Cluster>(peer);
                        }
                        _ => {
                            let peer = ptx::shared::mapa(empty, rank);
                            ptx::mbarrier::arrive_count_remote::<Relaxed, Cluster>(peer, arrivals);
                        }
                    }
                }
                rank += 1;
            }
        }
    }
}

/// Arrives on the empty barrier of every CTA that gets a part of the stage back, when the matrix instructions of this thread have
/// completed.
///
/// # Safety
/// 1. The barriers expect this arrival in their current phase, and this thread has issued what reads the stage, if anything does.
#[inline(always)]
unsafe fn commit_to_empty<R: Ring>(empty: Addr<SharedCta>) {
    use ptx::tcgen05::{commit, commit_multicast};
    // SAFETY: the caller's promise; every matrix instruction that this thread has issued has completed when the commit arrives (I18,
    // I19). No CTA has ended, since its producer's `finish` waits for these arrivals (I22).
    unsafe {
        match (R::Drain::PAIR, R::PEERS) {
            (true, _) => commit_multicast::<Group2>(empty.in_cluster(), all_peers(R::CTAS)),
            (false, 1) => commit::<Group1, SharedCta>(empty),
            (false, peers) => commit_multicast::<Group1>(empty.in_cluster(), all_peers(peers)),
        }
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
