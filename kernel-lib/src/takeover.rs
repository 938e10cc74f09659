//! Takeover: a CTA does the work of CTAs that have not started, one after the other.
//!
//! A grid has one CTA for each tile. Those that run ask the hardware to cancel the launch of another one and do its tile
//! too, so that each SM is busy to the end however long the tiles take, and nothing is initialised again. A field
//! `tiles: Takeover<2, 3>` of a layout is a ring of two answers for three sets of threads that follow them:
//!
//! | the thread that asks | each follower |
//! |---|---|
//! | `ask` (`try_cancel`), `answer`, `ask` … | `own`, then `next`, `next` … |
//! | `finish`, once an answer says that nothing is left | `next` returns `None` |
//!
//! # Why a hand-over is one
//! The hardware writes an answer through the async proxy and completes its 16 bytes on the slot's *full* barrier, which
//! expects them (rule C8); every follower acquires the phase by a wait of its own, so all of them read the same answer
//! (rule B6). Each thread that has read runs `fence.proxy.async`, its set's barrier orders that, and one lane arrives with
//! `.release` on the slot's *empty* barrier, for which the asking thread waits before the hardware writes there again (rule B2).
//!
//! A request that follows one that was seen to fail is undefined (rule F8). So there is one request under way at a time, its
//! answer gives the right to the next, and the answer that fails gives the proof for the exit instead: no write into the
//! CTA's memory is left (rule B9).
//!
//! # Clusters
//! `Takeover<2, 3, 2>` is for clusters of two CTAs, which take over whole clusters. The CTA of rank 0 asks for all; the answer
//! lands in each, and each arrives on the empty barrier of rank 0, at the scope of the cluster (rules C7, C11), by a relaxed arrival
//! behind `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster`; waits are relaxed, and followed by the fences that
//! acquire shared memory. The kernel is the same: in the other CTAs `ask` does nothing.
//!
//! ```
//! use baton::global::TheWarp;
//! use baton::prelude::*;
//! use baton::takeover::Takeover;
//!
//! baton::shared! {
//!     pub struct Smem in smem { tiles: Takeover<2, 1> }
//! }
//!
//! /// Each CTA squares its elements, and those of the CTAs whose work it takes over.
//! #[baton::kernel(threads = 64)]
//! fn squares(cta: Cta<'_, Smem, 64>, mut numbers: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
//!     let (cta, smem::Parts { tiles, .. }) = cta.claim();
//!     let (asker, (follower,)) = tiles.split();
//!     let (joined, (asked, ())) = cta.roles((
//!         warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
//!         warp(move |mut w| {
//!             let mut next = Some(follower.own());
//!             while let Some((follower, work)) = next {
//!                 for mut place in work.partition(&mut w, &mut numbers) {
//!                     place.put(place.get() * place.get());
//!                 }
//!                 next = follower.next(&mut w);
//!             }
//!         }),
//!     ));
//!     joined.exit((asked,))
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;

use crate::cursor::Cursor;
use crate::global::{DealtTo, Partition};
use crate::index::CtaIndex;
use crate::layout::Field;
use crate::peers;
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::cluster_launch::{self, Response};
use crate::ptx::{fence, ld, mark, mbarrier, shared, sreg};
use crate::require;
use crate::scope::{Cluster, Cta as CtaScope};
use crate::sem::{Acquire, Relaxed, Release};
use crate::token::{
    Brand, Finished, Marks, RequestsOf, SameSet, Set, SingleThread, StaysWithItsThreads, sealed,
};

/// Bytes of an answer.
const ANSWER: u32 = 16;
/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// A ring of `DEPTH` answers that `FOLLOWERS` sets of threads of each of the `CTAS` CTAs of a cluster follow: a field of a
/// layout, at most one in each.
pub struct Takeover<const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32 = 1>(());

impl<const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> Takeover<DEPTH, FOLLOWERS, CTAS> {
    const FULL: u32 = DEPTH * ANSWER;
    const EMPTY: u32 = Self::FULL + DEPTH * MBARRIER;
    /// Arrivals that empty a slot: the followers of all CTAs, and the threads that would ask in the CTAs that do not.
    const READERS: u32 = FOLLOWERS as u32 * CTAS + CTAS - 1;
}

// SAFETY: (1) each full barrier expects the one arrival that announces the answer, each empty barrier (used in rank 0) that of
// every reader, whose number is in the type (I11, I23); (2) answers and barriers within BYTES (I7); (3) `Closed` comes from `finish`,
// behind the last answer (I21).
unsafe impl<const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> Field
    for Takeover<DEPTH, FOLLOWERS, CTAS>
{
    const BYTES: u32 = {
        require(
            DEPTH >= 1,
            "rule F8: a takeover has room for at least one answer: write a depth of 1 or more",
        );
        require(
            FOLLOWERS >= 1 && FOLLOWERS <= 4,
            "rule C9: a takeover has one to four followers, whose arrivals hand each answer back, and an mbarrier counts at least \
             one: let one set follow, or leave the field out",
        );
        Self::EMPTY + DEPTH * MBARRIER
    };
    const ALIGN: u32 = ANSWER;
    const CLUSTER: u32 = {
        require(
            CTAS >= 1 && CTAS <= 16,
            "rule F3: a cluster has 1 to 16 CTAs, more than 8 only where the device allows it: choose a number of them",
        );
        if CTAS == 1 { 0 } else { CTAS }
    };
    const ASKS: u32 = CTAS;
    type Part<'k, Tag> = TakeoverPart<'k, Tag, DEPTH, FOLLOWERS, CTAS>;
    type Closed<'k, Tag> = Finished<'k, RequestsOf<Tag>>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut i = 0;
        while i < 2 * DEPTH {
            let arrivals = if i < DEPTH { 1 } else { Self::READERS };
            // SAFETY: the barrier's place (I7), before anyone uses it (I6).
            unsafe { mbarrier::init(base.offset(Self::FULL + i * MBARRIER), arrivals) };
            i += 1;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, _: u32) -> Self::Part<'k, Tag> {
        TakeoverPart { base, brand: PhantomData, field: PhantomData }
    }
}

/// A takeover that has been claimed and not yet split into its ends.
pub struct TakeoverPart<'k, Tag, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    brand: Brand<'k>,
    field: Marks<Tag>,
}

impl<'k, Tag, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32>
    TakeoverPart<'k, Tag, DEPTH, FOLLOWERS, CTAS>
{
    /// The end that asks, and a tuple of as many followers as the field says (rule C9): of one follower too,
    /// `let (asker, (follower,)) = tiles.split();`. Which set of threads holds an end follows from its first use.
    #[inline(always)]
    pub fn split<A: Set, TakeTheFollowersApartAsATupleRuleC9>(
        self, // C2, F8: a takeover is split once, so one end asks; hand its ends to the roles
    ) -> (Asker<'k, Tag, A, Granted, DEPTH, FOLLOWERS, CTAS>, TakeTheFollowersApartAsATupleRuleC9)
    where
        TakeTheFollowersApartAsATupleRuleC9: Followers<'k, Tag, DEPTH, FOLLOWERS, CTAS>,
        Tag: crate::layout::Tag,
    {
        mark::end::<Tag, A, 0>();
        TakeTheFollowersApartAsATupleRuleC9::mark();
        // SAFETY: a claimed field's place (I6), and its ends are handed out here, once: the part is consumed (I9).
        let followers = unsafe { TakeTheFollowersApartAsATupleRuleC9::at(self.base) };
        (Asker::new(self.base, Cursor::start()), followers)
    }
}

/// The tuple of the followers of a takeover.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of the {FOLLOWERS} followers of this takeover",
    note = "rule C9: each answer is handed back by as many arrivals as the field `Takeover<DEPTH, FOLLOWERS>` says: take a tuple \
            of that \
            many followers (one to four), and let each set of threads that needs the tiles have one"
)]
#[expect(
    private_bounds,
    reason = "followers come from `split`, and which tuples are theirs no other crate says"
)]
pub trait Followers<'k, Tag, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32>:
    At<'k, Tag, DEPTH, FOLLOWERS, CTAS>
{
}

/// Makes the followers of the takeover at an address: for each tuple, and not for a tuple of another takeover's.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of the {FOLLOWERS} followers of this takeover",
    note = "rule C9: each answer is handed back by as many arrivals as the field `Takeover<DEPTH, FOLLOWERS>` says, and the takeover makes the \
            followers that arrive",
    note = "take a tuple of that many from `split` (one to four), and let each set of threads that needs the tiles have one"
)]
pub(crate) trait At<'k, Tag, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> {
    /// # Safety
    /// 1. `base` is the place of the field `Tag`, claimed, and this is called once in each thread.
    unsafe fn at(base: Addr<SharedCta>) -> Self;
    /// Marks who holds which.
    fn mark()
    where
        Tag: crate::layout::Tag;
}

/// The number of a follower among the ends, behind that of the end that asks: 1 for `A`.
const fn end_of(set: &str) -> u32 {
    set.as_bytes()[0] as u32 - 'A' as u32 + 1
}

macro_rules! followers {
    ($($count:literal ($($set:ident),*);)*) => {$(
        impl<'k, Tag, $($set: Set,)* const DEPTH: u32, const CTAS: u32> Followers<'k, Tag, DEPTH, $count, CTAS>
            for ($(Follower<'k, Tag, $set, DEPTH, $count, CTAS>,)*)
        {
        }
        impl<'k, Tag, $($set: Set,)* const DEPTH: u32, const CTAS: u32> At<'k, Tag, DEPTH, $count, CTAS>
            for ($(Follower<'k, Tag, $set, DEPTH, $count, CTAS>,)*)
        {
            #[inline(always)]
            unsafe fn at(base: Addr<SharedCta>) -> Self {
                ($(Follower::<'k, Tag, $set, DEPTH, $count, CTAS>::new(base, Cursor::start()),)*)
            }
            #[inline(always)]
            fn mark()
            where
                Tag: crate::layout::Tag,
            {
                $(mark::end::<Tag, $set, { end_of(stringify!($set)) }>();)*
            }
        }
    )*};
}
followers! {
    1 (A);
    2 (A, B);
    3 (A, B, C);
    4 (A, B, C, D);
}

/// The thread may ask: the last answer was a cluster, or it has not asked yet.
pub enum Granted {}
/// A request is under way.
pub enum Asked {}
/// The last request failed: no cluster is left.
pub enum Refused {}
impl sealed::Sealed for Granted {}
impl sealed::Sealed for Asked {}
impl sealed::Sealed for Refused {}

/// The thread may ask for a cluster.
#[diagnostic::on_unimplemented(
    message = "no cluster may be asked for: the end is `{Self}`",
    label = "the answer before this request is not a cluster",
    note = "rule F8: a `clusterlaunchcontrol.try_cancel` behind one that was seen to fail is undefined, so each request comes \
            behind the \
            answer to the one before it, and the answer that fails ends them (PTX ISA, clusterlaunchcontrol.try_cancel)",
    note = "call `.answer(&mut t)`, and `ask` again with what `Ok` holds; what `Err` holds is ended by `.finish(&mut t)`"
)]
pub trait MayAsk: sealed::Sealed {}
impl MayAsk for Granted {}

/// A request is under way.
#[diagnostic::on_unimplemented(
    message = "no request is under way: the end is `{Self}`",
    note = "rule F8: `answer` waits for what `ask` has begun: call `.ask(&mut t)` first (PTX ISA, clusterlaunchcontrol.try_cancel)"
)]
pub trait HasAsked: sealed::Sealed {}
impl HasAsked for Asked {}

/// Nothing is under way, and the followers have been told so.
#[diagnostic::on_unimplemented(
    message = "the hardware may still write an answer, and the followers wait for one: the end is `{Self}`",
    label = "not refused yet",
    note = "rules B9 and F8: a CTA exits when the last answer has landed, which is the one that says that no cluster is left (PTX \
            ISA, \
            clusterlaunchcontrol.try_cancel)",
    note = "ask until `answer` returns `Err`, or call `.ask_until_refused(&mut t)`"
)]
pub trait NothingIsLeft: sealed::Sealed {}
impl NothingIsLeft for Refused {}

/// The end of a takeover that asks. `Send`, so that it moves into a role.
pub struct Asker<'k, Tag, S, State, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<DEPTH>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, State)>,
}

/// The end of a takeover that learns what to do. `Send`, so that it moves into a role; one for each thread of the set.
pub struct Follower<'k, Tag, S, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<DEPTH>,
    brand: Brand<'k>,
    field: Marks<(Tag, S)>,
}

/// A follower, and what it does until it asks for the next.
pub type Next<'k, Tag, S, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> =
    (Follower<'k, Tag, S, DEPTH, FOLLOWERS, CTAS>, Work<'k, Tag, S>);

/// Slot `index` of the ring at `base`.
struct Slot<const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    index: u32,
}

impl<const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32> Slot<DEPTH, FOLLOWERS, CTAS> {
    #[inline(always)]
    fn answer(&self) -> Addr<SharedCta> {
        self.base.offset(self.index * ANSWER)
    }

    #[inline(always)]
    fn full(&self) -> Addr<SharedCta> {
        self.base.offset(Takeover::<DEPTH, FOLLOWERS, CTAS>::FULL + self.index * MBARRIER)
    }

    #[inline(always)]
    fn empty(&self) -> Addr<SharedCta> {
        self.base.offset(Takeover::<DEPTH, FOLLOWERS, CTAS>::EMPTY + self.index * MBARRIER)
    }

    /// Waits for the answer, reads it, and fences the read.
    ///
    /// # Safety
    /// 1. The slot is that of a claimed field, and this thread has not handed the phase of parity `phase` back.
    #[inline(always)]
    unsafe fn read(&self, phase: u32) -> Response {
        // SAFETY: the slot's barrier, initialised by the claim (I6); the caller's cursor says the phase (I10).
        unsafe {
            if CTAS == 1 {
                mbarrier::wait_parity::<Acquire, CtaScope>(self.full(), phase);
            } else {
                peers::wait_to_read(self.full(), phase);
            }
        }
        // SAFETY: 16 bytes on their boundary, complete by the phase (I18); nobody writes them before this thread hands them back (I13),
        // fenced (I17).
        let words = unsafe { ld::ld_weak_v4::<_, u32>(self.answer()) }.map(u64::from);
        // In a cluster the fence stands in `hand_back`, and in the thread that asks, which hands back by asking.
        if CTAS == 1 {
            fence::fence_proxy_async_in::<SharedCta>();
        }
        Response { low: words[0] | words[1] << 32, high: words[2] | words[3] << 32 }
    }

    /// One reader's arrival on the empty barrier.
    ///
    /// # Safety
    /// 1. The reader has read the slot's answer, fenced, and hands it back once.
    #[inline(always)]
    unsafe fn hand_back(&self) {
        if CTAS == 1 {
            // SAFETY: the barrier expects this arrival (I11), by the caller.
            unsafe { mbarrier::arrive::<Release, CtaScope>(self.empty()) };
        } else {
            // The hardware writes the answers of all CTAs when rank 0 asks: what was read of it lies in this one's memory.
            peers::release_reads_to_copies();
            // SAFETY: the field lies at the same place in every CTA of the cluster (I7), and rank 0 has not ended, since the exit
            // waits for all (I22); its barrier expects this arrival (I11), by the caller.
            unsafe {
                mbarrier::arrive_remote::<Relaxed, Cluster>(shared::mapa(self.empty(), 0));
            }
        }
    }
}

/// Waits for a phase that this CTA alone, or the whole cluster, takes part in (rule C7).
///
/// # Safety
/// `barrier` is an initialised mbarrier of this CTA.
#[inline(always)]
unsafe fn wait<const CTAS: u32>(barrier: Addr<SharedCta>, phase: u32) {
    if CTAS == 1 {
        // SAFETY: the caller's promise.
        unsafe { mbarrier::wait_parity::<Acquire, CtaScope>(barrier, phase) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { peers::wait(barrier, phase) }
    }
}

impl<'k, Tag, S: Set, State, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32>
    Asker<'k, Tag, S, State, DEPTH, FOLLOWERS, CTAS>
{
    #[inline(always)]
    fn new(base: Addr<SharedCta>, cursor: Cursor<DEPTH>) -> Self {
        Asker { base, cursor, brand: PhantomData, field: PhantomData }
    }

    #[inline(always)]
    fn slot(&self) -> Slot<DEPTH, FOLLOWERS, CTAS> {
        Slot { base: self.base, index: self.cursor.index() }
    }

    /// Waits until the followers have handed the next slot back, and asks for a cluster that has not started.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire`, `mbarrier.arrive.expect_tx` with 16 bytes (in every CTA of the cluster),
    /// `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128`. PTX 8.6, sm_100 (ISA
    /// *clusterlaunchcontrol.try_cancel*).
    #[inline(always)]
    pub fn ask<U>(
        self, // F8: the next request comes behind this one's answer; ask with what `answer` returns
        thread: &mut U,
    ) -> Asker<'k, Tag, S, Asked, DEPTH, FOLLOWERS, CTAS>
    where
        U: SameSet<S> + SingleThread,
        State: MayAsk,
    {
        let _ = thread;
        let slot = self.slot();
        if CTAS == 1 {
            // SAFETY: the ring's barriers, initialised by the claim (I6), and this end's own cursor (I9, I10); every reader has fenced
            // and handed the slot back (I13, I17), the last phase of its full barrier is complete, and no request of this CTA has
            // failed, by the state (I14, I15). The barrier expects the bytes of one answer (I12).
            unsafe {
                wait::<CTAS>(slot.empty(), self.cursor.emptied());
                // Publishes nothing: what the phase hands over is the answer.
                mbarrier::arrive_expect_tx::<Relaxed, CtaScope>(slot.full(), ANSWER);
                cluster_launch::try_cancel(slot.answer(), slot.full());
            }
        } else if sreg::cluster_ctarank() == 0 {
            // SAFETY: as above, for the readers of all CTAs (I11), none of which has ended, since the exit waits for all (I22). The
            // field lies at the same place in each (I7).
            unsafe {
                wait::<CTAS>(slot.empty(), self.cursor.emptied());
                let mut rank = 0;
                while rank < CTAS {
                    let full = shared::mapa(slot.full(), rank);
                    // Publishes nothing: what the phase hands over is the answer.
                    mbarrier::arrive_expect_tx_remote::<Relaxed, Cluster>(full, ANSWER);
                    rank += 1;
                }
                cluster_launch::try_cancel_multicast(slot.answer(), slot.full());
            }
        }
        Asker::new(self.base, self.cursor)
    }

    /// Waits for the answer: the right to ask again, or the end.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire`, `ld.weak.shared::cta.v4.b32`, `fence.proxy.async.shared::cta`,
    /// `clusterlaunchcontrol.query_cancel.is_canceled`. PTX 8.6, sm_100 (ISA *clusterlaunchcontrol.query_cancel*).
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn answer<U>(
        mut self, // F8: an answer is used once; go on with what this returns
        thread: &mut U,
    ) -> Result<
        Asker<'k, Tag, S, Granted, DEPTH, FOLLOWERS, CTAS>,
        Asker<'k, Tag, S, Refused, DEPTH, FOLLOWERS, CTAS>,
    >
    where
        U: SameSet<S> + SingleThread,
        State: HasAsked,
    {
        let _ = thread;
        let slot = self.slot();
        // SAFETY: a claimed field's (I6), and this thread reads each answer once, in their order, by its own cursor (I10).
        let response = unsafe { slot.read(self.cursor.filled()) };
        if CTAS > 1 {
            if sreg::cluster_ctarank() == 0 {
                fence::fence_proxy_async_in::<SharedCta>();
            } else {
                // SAFETY: just read, by the one thread of this CTA that would ask (I9, I11); fenced there (I17).
                unsafe { slot.hand_back() };
            }
        }
        self.cursor.advance();
        if cluster_launch::is_canceled(response) {
            Ok(Asker::new(self.base, self.cursor))
        } else {
            Err(Asker::new(self.base, self.cursor))
        }
    }

    /// Ends the asking: the last answer has landed.
    #[inline(always)]
    pub fn finish<U>(
        self, // B9: after this nothing is asked for; pass the proof to the exit
        thread: &mut U,
    ) -> Finished<'k, RequestsOf<Tag>>
    where
        U: SameSet<S>,
        State: NothingIsLeft,
    {
        let _ = thread;
        // SAFETY: requests are made one at a time, each behind the answer to the one before; the last answer was observed, by the state
        // (I14, I15, I21).
        unsafe { Finished::assume() }
    }

    /// Asks as long as there is an answer.
    #[inline(always)]
    pub fn ask_until_refused<U>(
        self, // F8: after the refusal nothing is asked for; pass the proof to the exit
        thread: &mut U,
    ) -> Finished<'k, RequestsOf<Tag>>
    where
        U: SameSet<S> + SingleThread,
        State: MayAsk,
    {
        let mut granted: Asker<'k, Tag, S, Granted, DEPTH, FOLLOWERS, CTAS> =
            Asker::new(self.base, self.cursor);
        loop {
            match granted.ask(thread).answer(thread) {
                Ok(again) => granted = again,
                Err(refused) => return refused.finish(thread),
            }
        }
    }
}

impl<'k, Tag, S: Set, const DEPTH: u32, const FOLLOWERS: usize, const CTAS: u32>
    Follower<'k, Tag, S, DEPTH, FOLLOWERS, CTAS>
{
    #[inline(always)]
    fn new(base: Addr<SharedCta>, cursor: Cursor<DEPTH>) -> Self {
        Follower { base, cursor, brand: PhantomData, field: PhantomData }
    }

    /// The CTA's own work, which comes first.
    #[inline(always)]
    pub fn own(
        self, // F8: a CTA does its own work once; go on with the end that this returns
    ) -> Next<'k, Tag, S, DEPTH, FOLLOWERS, CTAS> {
        (self, Work::of([sreg::ctaid_x(), sreg::ctaid_y(), sreg::ctaid_z()]))
    }

    /// Waits for the next answer: the work that was taken over, or nothing if none is left. All threads of the set, and all
    /// followers of the CTA, get the same.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire`, `ld.weak.shared::cta.v4.b32` and `fence.proxy.async.shared::cta` in each
    /// thread of the set; its barrier; `mbarrier.arrive.release` by one lane;
    /// `clusterlaunchcontrol.query_cancel.is_canceled`, `clusterlaunchcontrol.query_cancel.get_first_ctaid`. PTX 8.6, sm_100
    /// (ISA *clusterlaunchcontrol.query_cancel*).
    #[inline(always)]
    pub fn next<U>(
        mut self, // F8: behind the last answer there is nothing to wait for; go on with the end that this returns
        set: &mut U,
    ) -> Option<Next<'k, Tag, S, DEPTH, FOLLOWERS, CTAS>>
    where
        U: SameSet<S>,
    {
        let slot: Slot<DEPTH, FOLLOWERS, CTAS> =
            Slot { base: self.base, index: self.cursor.index() };
        // SAFETY: a claimed field's (I6), and this thread reads each answer once, in their order, by its own cursor (I10).
        let response = unsafe { slot.read(self.cursor.filled()) };
        set.barrier_for(slot.empty().raw());
        set.lead(|| {
            // SAFETY: every thread of the set has read and fenced (I17), by the set's barrier (I13); one arrives for all (I11).
            unsafe { slot.hand_back() }
        });
        self.cursor.advance();
        if !cluster_launch::is_canceled(response) {
            return None;
        }
        // SAFETY: a cluster was cancelled, as the answer has just said.
        let [x, y, z] = unsafe { cluster_launch::get_first_ctaid(response) };
        let rank = if CTAS == 1 { 0 } else { sreg::cluster_ctarank() };
        Some((self, Work::of([x + rank, y, z])))
    }
}

/// The work of one CTA of the grid, which this CTA does: its own, or that of a CTA that was cancelled.
pub struct Work<'k, Tag, S> {
    index: [u32; 3],
    brand: Brand<'k>,
    field: Marks<(Tag, S)>,
    stays: StaysWithItsThreads,
}

impl<Tag, S: Set> Work<'_, Tag, S> {
    #[inline(always)]
    fn of(index: [u32; 3]) -> Self {
        Work { index, brand: PhantomData, field: PhantomData, stays: PhantomData }
    }

    /// Index in the grid of the CTA whose work it is.
    #[inline(always)]
    pub fn index(&self) -> CtaIndex {
        let [x, y, z] = self.index;
        CtaIndex { x, y, z }
    }

    /// The elements of `array` that this thread would own in that CTA (rule A13).
    ///
    /// No other thread has them: a CTA that was cancelled does not run, and the hardware gives its work to one cluster.
    #[inline(always)]
    pub fn partition<A, U>(&self, set: &mut U, array: &mut A) -> Partition<A::Element>
    where
        A: DealtTo<U>,
        U: SameSet<S>,
    {
        // SAFETY: the array is this thread's alone among those of its set's CTA, by the type (I16, I23); that CTA's elements are this
        // CTA's, by the answer (I14).
        unsafe { array.partition_in(set, self.index) }
    }
}
