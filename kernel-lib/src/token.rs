//! Tokens: values that stand for sets of threads.
//!
//! Every thread of a set holds one copy of the set's token, and the set is part of the token's type. A
//! method that the whole set must call takes `&mut` of that token, so calling a CTA barrier from a warp's
//! role, or issuing a one-thread instruction from a whole warp, is a type error (rules F1, D11, C9).
//!
//! The root is [`Cta`], a parameter of the kernel; no safe function makes one. [`Cta::claim`] prepares the
//! shared memory that the kernel's layout declares, [`Cta::roles`] gives each warp its role, and the kernel
//! ends with the [`Exit`] that only the joined CTA yields.
//!
//! Tokens are `!Send`: a role's closure must be `Send`, so it cannot capture another set's token.

use core::marker::PhantomData;

use crate::layout::{Claimed, Layout};
use crate::{ptx, require};

/// Makes the lifetime `'k` of one run of one kernel invariant, so that nothing of one kernel fits another.
pub(crate) type Brand<'k> = PhantomData<fn(&'k ()) -> &'k ()>;

/// Keeps a type in the threads that hold it: not `Send`, so no role or elected thread can capture it.
pub(crate) type StaysWithItsThreads = PhantomData<StaysWith<ItsThreads>>;

/// `Send` and `Sync` as soon as `T` [may be captured](MayBeCaptured).
#[doc(hidden)]
pub struct StaysWith<T>(T);

/// The threads that hold a value.
#[doc(hidden)]
pub enum ItsThreads {}

/// What another set of threads may get hold of. Nothing implements it: it is here so that the compiler says why a
/// token, a region or a witness is not `Send`.
#[diagnostic::on_unimplemented(
    message = "a role or an elected thread cannot capture what another set of threads holds",
    label = "captures a token, a region or a witness of other threads",
    note = "rules F1, A9 and B10: a token stands for the threads that hold it, and so do the regions, witnesses and accumulators \
            that those threads were handed; in other threads they would say what is not true",
    note = "use the token that the closure receives, and let it own endpoints (`Producer`, `Consumer`, unopened parts), which \
            other threads may hold"
)]
#[doc(hidden)]
pub trait MayBeCaptured: sealed::Sealed {}

// SAFETY: no value of the type exists.
unsafe impl<T: MayBeCaptured> Send for StaysWith<T> {}
// SAFETY: as above.
unsafe impl<T: MayBeCaptured> Sync for StaysWith<T> {}

/// Types that a value is marked with; they say nothing of what it owns.
pub(crate) type Marks<T> = PhantomData<fn() -> T>;

/// Lanes of a warp.
pub const WARP: u32 = 32;

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A set of threads that acts together.
///
/// # PTX
/// [`barrier`](Set::barrier) is `bar.sync` with the set's own barrier number (CTA, warpgroup) or
/// `bar.warp.sync` (warp); ISA 9.7.13.1 and 9.7.13.2. It orders the memory accesses of the set's threads
/// (ISA 8.9.4): what one wrote before it, all read after it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the token of a set of threads",
    note = "pass `&mut` of the token that the kernel or role received: `Cta`, `Warpgroup`, `Warp` or `Thread`"
)]
pub trait Set: sealed::Sealed {
    /// How many threads the set has.
    const THREADS: u32;
    /// This thread's place in the set, `0..THREADS`.
    fn rank(&self) -> u32;
    /// Waits until every thread of the set is here and makes their earlier writes visible to all of them.
    fn barrier(&mut self);
    /// Whether this thread is the one that acts for the set where one must (rank 0).
    #[inline(always)]
    fn is_leader(&self) -> bool {
        self.rank() == 0
    }
    /// Runs `action` in the set's leader alone.
    #[doc(hidden)]
    fn lead(&mut self, action: impl FnOnce());
    /// The set's barrier, which also says whether some thread of the set passes `true`: the same answer for all.
    #[doc(hidden)]
    fn barrier_any(&mut self, vote: bool) -> bool;
}

/// A set of exactly one thread.
#[diagnostic::on_unimplemented(
    message = "this is issued once, by one thread, and `{Self}` is a set of several",
    label = "needs the token of one thread",
    note = "rules D11 and C9: every thread of the set would issue its own copy (PTX ISA 9.7.16.2: `tcgen05.mma`, `cp` and `commit` \
            act for the issuing thread; ISA 9.7.9.25: so do bulk copies), and the barrier counts one; rule F8: so does \
            `clusterlaunchcontrol.try_cancel`, and an answer that nobody reads is a tile that nobody computes",
    note = "elect one thread of a warp: `warp.elect(move |mut t| …)`, and pass `&mut t`"
)]
pub trait SingleThread: Set {}

/// Four whole warps, the first of which is a multiple of four: what reaches all 128 lanes of tensor memory.
#[diagnostic::on_unimplemented(
    message = "tensor memory is read by four warps together, and `{Self}` is not a warpgroup",
    label = "needs the token of a warpgroup",
    note = "rules D12 and D11: `tcgen05.ld` is issued by whole warps, and warp `i` of a warpgroup reaches only lanes `32 * i` to \
            `32 * i + 31` (PTX ISA 9.7.16.2.3.1)",
    note = "give the role four warps: `warpgroup(move |mut wg| …)`"
)]
pub trait FourWarps: Set {}

/// The same set of threads as `S`.
///
/// # Safety
/// The tokens `Self` and `S` stand for the same threads.
#[diagnostic::on_unimplemented(
    message = "this object belongs to the set `{S}`, and `{Self}` is another set of threads",
    label = "another set of threads",
    note = "rules F1, C9 and B10: its barrier counts, its bulk groups and its partition are those of `{S}`; what one set issued, \
            the same set waits for (PTX ISA 9.7.9.25.3: a bulk group belongs to the thread that committed it)",
    note = "pass the token of the set that used the object first"
)]
pub unsafe trait SameSet<S>: Set {}

// SAFETY: one type, one set.
unsafe impl<S: Set> SameSet<S> for S {}

/// The role at position `I` of a call of [`Cta::roles`].
pub struct Role<const I: u32>(());

/// A position in [`Cta::roles`].
pub trait RolePosition: sealed::Sealed {
    /// Its number, which is also what its named barrier follows from (rule F7).
    const INDEX: u32;
}

impl<const I: u32> sealed::Sealed for Role<I> {}
impl<const I: u32> RolePosition for Role<I> {
    const INDEX: u32 = I;
}

/// All threads of a CTA: the root token of a kernel.
///
/// `L` is the layout of the CTA's shared memory (before the claim) or [`Claimed<L>`] (after it); `THREADS` is
/// the number of threads, a multiple of 32.
pub struct Cta<'k, L, const THREADS: u32>(Brand<'k>, PhantomData<L>, StaysWithItsThreads);

/// The four warps of a role, aligned to four.
pub struct Warpgroup<'k, R>(Brand<'k>, PhantomData<R>, StaysWithItsThreads);

/// The one warp of a role.
pub struct Warp<'k, R>(Brand<'k>, PhantomData<R>, StaysWithItsThreads);

/// The one thread that the warp of role `R` elected.
pub struct Thread<'k, R>(Brand<'k>, PhantomData<R>, StaysWithItsThreads);

/// All threads of the CTA again, each at the end of its role; what they do together comes behind a barrier of all of them.
pub struct Joined<'k, L, const THREADS: u32>(Brand<'k>, PhantomData<L>, StaysWithItsThreads);

/// All threads of the CTA, after every role of every CTA of its cluster has ended.
pub struct PeersJoined<'k, L, const THREADS: u32>(Brand<'k>, PhantomData<L>, StaysWithItsThreads);

/// The end of a kernel. Only [`Joined::exit`] and [`PeersJoined::exit`] make one.
pub struct Exit<'k>(Brand<'k>, StaysWithItsThreads);

/// Index of this thread along x, for address arithmetic.
#[inline(always)]
fn thread_x() -> u32 {
    ptx::sreg::tid_x()
}

impl<L, const THREADS: u32> sealed::Sealed for Cta<'_, L, THREADS> {}
impl<L, const THREADS: u32> Set for Cta<'_, L, THREADS> {
    const THREADS: u32 = THREADS;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x()
    }
    #[inline(always)]
    fn barrier(&mut self) {
        // SAFETY: the token stands for all threads of the CTA, each of which is at this call; barrier 0 is the
        // CTA's own (roles use 1 and up).
        unsafe { ptx::barrier::bar_sync(0) }
    }
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        lead_a_warp(self.rank(), action)
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        // SAFETY: as in `barrier`.
        unsafe { ptx::barrier::bar_red_or(0, vote) }
    }
}

impl<L, const THREADS: u32> Joined<'_, L, THREADS> {
    /// Makes the warps whole: lanes that were not elected come early.
    #[inline(always)]
    fn gather(&mut self) {
        // SAFETY: every lane of every warp leaves its role and comes here.
        unsafe { ptx::barrier::bar_warp_sync(u32::MAX) };
    }
}

impl<L, const THREADS: u32> sealed::Sealed for Joined<'_, L, THREADS> {}
impl<L, const THREADS: u32> Set for Joined<'_, L, THREADS> {
    const THREADS: u32 = THREADS;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x()
    }
    #[inline(always)]
    fn barrier(&mut self) {
        self.gather();
        // SAFETY: every role has ended or ends, so all threads come here, and their warps are whole; nobody uses the CTA's own
        // barrier otherwise.
        unsafe { ptx::barrier::bar_sync(0) }
    }
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        // The action may wait for what a thread holds that is still in its role: all of them have to be here first.
        self.barrier();
        lead_a_warp(self.rank(), action)
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        self.gather();
        // SAFETY: as in `barrier`.
        unsafe { ptx::barrier::bar_red_or(0, vote) }
    }
}

impl<R> sealed::Sealed for Warpgroup<'_, R> {}
impl<R: RolePosition> Set for Warpgroup<'_, R> {
    const THREADS: u32 = 4 * WARP;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x() % Self::THREADS
    }
    #[inline(always)]
    fn barrier(&mut self) {
        // SAFETY: the token stands for the 128 threads of the role, each of which is at this call; the number
        // belongs to the role's position alone.
        unsafe { ptx::barrier::bar_sync_count(1 + R::INDEX, Self::THREADS) }
    }
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        lead_a_warp(self.rank(), action)
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        // SAFETY: as in `barrier`.
        unsafe { ptx::barrier::bar_red_or_count(1 + R::INDEX, Self::THREADS, vote) }
    }
}
impl<R: RolePosition> FourWarps for Warpgroup<'_, R> {}

impl<R> sealed::Sealed for Warp<'_, R> {}
impl<R: RolePosition> Set for Warp<'_, R> {
    const THREADS: u32 = WARP;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x() % WARP
    }
    #[inline(always)]
    fn barrier(&mut self) {
        // SAFETY: the token stands for the 32 lanes of the warp, each of which is at this call.
        unsafe { ptx::barrier::bar_warp_sync(u32::MAX) }
    }
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        // By the register that says it: then ptxas knows that it is one lane, and does not gather the additions of several.
        lead_a_warp(ptx::sreg::laneid(), action)
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        // A vote orders no memory (ISA 9.7.13.11).
        self.barrier();
        // SAFETY: as in `barrier`.
        unsafe { ptx::warp::vote_sync_any(vote, u32::MAX) }
    }
}

impl<R> sealed::Sealed for Thread<'_, R> {}
impl<R: RolePosition> Set for Thread<'_, R> {
    const THREADS: u32 = 1;
    #[inline(always)]
    fn rank(&self) -> u32 {
        0
    }
    #[inline(always)]
    fn barrier(&mut self) {}
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        action()
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        vote
    }
}
impl<R: RolePosition> SingleThread for Thread<'_, R> {}

/// Runs `action` in the thread of rank 0. The lanes of its warp meet again where the branch ends: it encloses nothing but
/// `action`, which has no collective.
#[inline(always)]
fn lead_a_warp(rank: u32, action: impl FnOnce()) {
    if rank == 0 {
        action();
    }
}

/// The layout and thread count of a root token, for the entry that `#[baton::kernel]` writes.
#[doc(hidden)]
pub trait RootToken<'k>: sealed::Sealed {
    /// The layout before the claim.
    type Layout: Layout;
    /// Threads of the CTA.
    const THREADS: u32;
    /// # Safety
    /// 1. The caller is the entry of a kernel launched with `THREADS` threads in x and
    ///    `Layout::BYTES` of dynamic shared memory, and calls this once, in every thread.
    /// 2. `'k` is a fresh lifetime of this run.
    unsafe fn root() -> Self;
}

impl<'k, L: Layout, const THREADS: u32> RootToken<'k> for Cta<'k, L, THREADS> {
    type Layout = L;
    const THREADS: u32 = {
        require(
            THREADS > 0 && THREADS <= 1024 && THREADS % WARP == 0,
            "a CTA has 32 to 1024 threads, whole warps",
        );
        THREADS
    };
    #[inline(always)]
    unsafe fn root() -> Self {
        Cta(PhantomData, PhantomData, PhantomData)
    }
}

impl<'k, L: Layout, const THREADS: u32> Cta<'k, L, THREADS> {
    /// Prepares the shared memory that the layout declares and hands out its parts.
    ///
    /// Barriers are initialised by one thread, tensor memory is allocated by one warp (and the permit given
    /// up), `fence.mbarrier_init.release.cluster` makes barriers visible to the async proxy where it or a peer reaches them,
    /// and a CTA barrier to every thread: no part exists before that (rules C1, C2, D8, D9).
    #[inline(always)]
    pub fn claim(self) -> (Cta<'k, Claimed<L>, THREADS>, L::Parts<'k>) {
        let mut cta = Cta(PhantomData, PhantomData, PhantomData);
        // SAFETY: the token of the unclaimed layout is consumed, and there is one for each thread; all of them
        // are here.
        let parts = unsafe { crate::layout::prepare::<L, THREADS>(&mut cta) };
        (cta, parts)
    }
}

/// Shared memory that has been claimed; see [`Cta::claim`].
#[diagnostic::on_unimplemented(
    message = "the shared memory of `{Self}` has not been claimed",
    label = "claim first",
    note = "rule C1: barriers are used only after `mbarrier.init` was made visible to every thread and to the async proxy \
            (PTX ISA 9.7.13.15.9)",
    note = "`let (cta, parts) = cta.claim();` does that, and gives the parts that the roles use"
)]
pub trait IsClaimed: sealed::Sealed {
    /// The layout.
    type Layout: Layout;
}
impl<L> sealed::Sealed for Claimed<L> {}
impl<L: Layout> IsClaimed for Claimed<L> {
    type Layout = L;
}

impl<'k, L, const THREADS: u32> Cta<'k, L, THREADS> {
    /// Splits the CTA: each warp runs the closure of its role. No barrier stands at the end: what needs one, `dealloc` and the exit
    /// of a cluster, has its own.
    ///
    /// `roles` is a tuple of [`warpgroup`] and [`warp`] in the order of the warps, which together are exactly
    /// the CTA's threads. A closure owns what it uses (`Send + 'k`), and what it returns says what it has
    /// drained.
    #[inline(always)]
    pub fn roles<R: Roles<'k, THREADS>>(
        self, // F1: each role has a token of its own threads, and none has the CTA's
        roles: R,
    ) -> (Joined<'k, L, THREADS>, R::Returns)
    where
        L: IsClaimed,
    {
        // SAFETY: the CTA's token is consumed, so every thread passes here once, all of them with the same `R`.
        let returns = unsafe { roles.run(thread_x() / WARP) };
        (Joined(PhantomData, PhantomData, PhantomData), returns)
    }

    /// Keeps the CTA together: for kernels in which all threads do the same.
    #[inline(always)]
    pub fn join(self) -> Joined<'k, L, THREADS>
    where
        L: IsClaimed,
    {
        Joined(PhantomData, PhantomData, PhantomData)
    }
}

impl<'k, L: Layout, const THREADS: u32> Joined<'k, Claimed<L>, THREADS> {
    /// Ends the kernel. `closed` holds the proof, field by field of the layout, that no asynchronous operation
    /// still uses the CTA's shared or tensor memory (rules B9, D8): what `finish` and `dealloc` return. Where a field
    /// spans a cluster, waits for the peers (rule F3).
    #[inline(always)]
    pub fn exit<P>(
        mut self, // B9: a CTA exits once, after everything that uses its memory has ended
        closed: P,
    ) -> Exit<'k>
    where
        P: Closes<'k, L>,
    {
        let _ = closed;
        if L::CLUSTER != 0 {
            // Peers may still read this CTA's memory (rules F3, D13).
            if L::ARRIVES_ON_CLUSTER {
                // SAFETY: the barrier that the claim initialised for this; all threads of the CTA are here, and those of its peers
                // come.
                unsafe { crate::cluster::meet_at_the_exit::<L, _>(&mut self) };
            } else {
                self.gather();
                // SAFETY: all threads of the CTA are here, and those of its peers come; nothing else arrives on the barrier.
                unsafe { crate::cluster::whole_barrier() };
            }
        }
        Exit(PhantomData, PhantomData)
    }

    /// Waits until every role of every CTA of the cluster has ended. What each did comes before what follows.
    ///
    /// # PTX
    /// `tcgen05.fence::before_thread_sync` where the layout has tensor memory, `barrier.cluster.arrive.release.aligned`,
    /// `barrier.cluster.wait.acquire.aligned`.
    #[inline(always)]
    pub fn join_peers(
        mut self, // D13: the CTA goes on behind the barrier of the cluster
    ) -> PeersJoined<'k, Claimed<L>, THREADS> {
        const {
            require(
                !L::ARRIVES_ON_CLUSTER,
                "rule F2: an exchange between peers arrives on the cluster's barrier; its `close` and the exit come behind its last wait",
            );
        };
        if L::COLUMNS != 0 {
            ptx::tcgen05::fence_before_thread_sync();
        }
        if L::CLUSTER == 0 {
            // A cluster of one.
            self.barrier();
        } else {
            self.gather();
            // SAFETY: all threads of the CTA are here, and those of its peers come; no field arrives on the barrier.
            unsafe { crate::cluster::whole_barrier() };
        }
        PeersJoined(PhantomData, PhantomData, PhantomData)
    }
}

impl<L, const THREADS: u32> sealed::Sealed for PeersJoined<'_, L, THREADS> {}
impl<'k, L: Layout, const THREADS: u32> PeersJoined<'k, Claimed<L>, THREADS> {
    /// Ends the kernel; see [`Joined::exit`].
    #[inline(always)]
    pub fn exit<P>(
        self, // B9: a CTA exits once, after everything that uses its memory has ended
        closed: P,
    ) -> Exit<'k>
    where
        P: Closes<'k, L>,
    {
        let joined: Joined<'k, Claimed<L>, THREADS> = Joined(PhantomData, PhantomData, PhantomData);
        joined.exit(closed)
    }
}

/// The proofs that no asynchronous operation uses the memory of the layout `L` any more.
///
/// # Safety
/// `Self` is `L::Closed<'k>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not prove that the memory of `{L}` is no longer used",
    label = "a proof is missing, or is that of another field",
    note = "rules B9 and D8: a CTA exits after every bulk copy that uses its shared memory has completed and its tensor memory was \
            deallocated (PTX ISA 9.7.9.25.2, 9.7.16.7.1)",
    note = "rule F3: where peers of a cluster reach a field, the exit is where they meet last, and comes behind the wait for the last \
            arrival on the cluster's barrier (PTX ISA 5.1.6, barrier.cluster)",
    note = "pass a tuple with one proof for each field that bulk copies, matrix instructions or peers use, in the order of the fields: \
            what `producer.finish(…)`, `staging.finish(…)`, `tensor.dealloc(…)`, `region.close(…)`, and a takeover's \
            `asker.finish(…)` or `asker.ask_until_refused(…)` return; no other field needs one, and `()` closes none"
)]
pub unsafe trait Closes<'k, L> {}
// SAFETY: by the bound.
#[diagnostic::do_not_recommend]
unsafe impl<'k, L: Layout<Closed<'k> = P>, P> Closes<'k, L> for P {}

/// What the closure of a role, or of an elected thread, may return: proofs and nothing else.
///
/// The threads that did not run the closure need the value too, so it must hold no data.
///
/// # Safety
/// A value of the type carries no data, and may exist in every thread of the CTA although the closure that returned it
/// has not ended in the threads that run it: whoever acts on it passes a barrier of the whole CTA first, or lets the CTA end,
/// which takes the end of all its threads.
#[diagnostic::on_unimplemented(
    message = "a role cannot return `{Self}`",
    label = "only proofs leave a role",
    note = "the threads of other roles did not compute it: regions, witnesses and values stay with the threads that hold them \
            (rules A9, F1)",
    note = "end the closure with `()` or with what `finish(…)` returns"
)]
pub unsafe trait RoleReturn: sealed::Sealed {
    /// # Safety
    /// The closure that returns `Self` has ended, or will have when the CTA exits and before the next barrier of the
    /// whole CTA is passed, in the threads that run it.
    #[doc(hidden)]
    unsafe fn conjure() -> Self;
}

macro_rules! role_returns {
    ($(($($t:ident),*))*) => {$(
        impl<$($t: RoleReturn),*> sealed::Sealed for ($($t,)*) {}
        // SAFETY: holds nothing but proofs.
        unsafe impl<$($t: RoleReturn),*> RoleReturn for ($($t,)*) {
            #[inline(always)]
            unsafe fn conjure() -> Self {
                // SAFETY: the caller's promise holds for each part.
                unsafe { ($(<$t as RoleReturn>::conjure(),)*) }
            }
        }
    )*};
}
#[allow(unused_unsafe, clippy::unused_unit, clippy::missing_safety_doc)]
mod role_returns {
    use super::*;
    role_returns! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }
}

/// A role of four warps; see [`warpgroup`].
pub struct WarpgroupRole<'k, R, F, T>(F, Brand<'k>, PhantomData<(R, T)>);

/// A role of one warp; see [`warp`].
pub struct WarpRole<'k, R, F, T>(F, Brand<'k>, PhantomData<(R, T)>);

/// Four warps run `body` together. The first of them must be a multiple of four (rule D12), which
/// [`Cta::roles`] checks.
#[inline(always)]
pub fn warpgroup<'k, R, F, T>(body: F) -> WarpgroupRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warpgroup<'k, R>) -> T + Send + 'k,
    T: RoleReturn,
{
    WarpgroupRole(body, PhantomData, PhantomData)
}

/// One warp runs `body`.
#[inline(always)]
pub fn warp<'k, R, F, T>(body: F) -> WarpRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warp<'k, R>) -> T + Send + 'k,
    T: RoleReturn,
{
    WarpRole(body, PhantomData, PhantomData)
}

/// A role whose closure takes the token of position `I`.
#[diagnostic::on_unimplemented(
    message = "this role stands at position {I} of the tuple, and its closure takes the token of another position",
    label = "the token of another role",
    note = "rule F7: a role's barrier has the number and the count that follow from its position in `cta.roles((…))`; two roles with one \
            position would meet at one named barrier (PTX ISA, bar/barrier)",
    note = "take `Warp<'k, Role<{I}>>` or `Warpgroup<'k, Role<{I}>>`, or leave the type of the token to be inferred: `warp(move |mut w| …)`"
)]
pub trait AtPosition<const I: u32>: sealed::Sealed {}
#[diagnostic::do_not_recommend]
impl<const I: u32, F, T> AtPosition<I> for WarpRole<'_, Role<I>, F, T> {}
#[diagnostic::do_not_recommend]
impl<const I: u32, F, T> AtPosition<I> for WarpgroupRole<'_, Role<I>, F, T> {}

/// One role of a tuple of roles.
pub trait RoleSpec<'k>: sealed::Sealed {
    /// How many warps it has.
    const WARPS: u32;
    /// What its closure returns.
    type Return: RoleReturn;
    /// # Safety
    /// Called once, in exactly the threads of the role, all of which are here.
    #[doc(hidden)]
    unsafe fn run(self) -> Self::Return;
}

impl<R, F, T> sealed::Sealed for WarpgroupRole<'_, R, F, T> {}
impl<'k, R, F, T> RoleSpec<'k> for WarpgroupRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warpgroup<'k, R>) -> T + Send + 'k,
    T: RoleReturn,
{
    const WARPS: u32 = 4;
    type Return = T;
    #[inline(always)]
    unsafe fn run(self) -> T {
        (self.0)(Warpgroup(PhantomData, PhantomData, PhantomData))
    }
}

impl<R, F, T> sealed::Sealed for WarpRole<'_, R, F, T> {}
impl<'k, R, F, T> RoleSpec<'k> for WarpRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warp<'k, R>) -> T + Send + 'k,
    T: RoleReturn,
{
    const WARPS: u32 = 1;
    type Return = T;
    #[inline(always)]
    unsafe fn run(self) -> T {
        (self.0)(Warp(PhantomData, PhantomData, PhantomData))
    }
}

/// A tuple of roles that together are the warps of a CTA of `THREADS` threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of roles",
    note = "pass a tuple of `warpgroup(…)` and `warp(…)`, in the order of the warps, one to six roles"
)]
pub trait Roles<'k, const THREADS: u32>: tuples::Sealed {
    /// What the closures return.
    type Returns;
    /// # Safety
    /// Called once by every thread of the CTA, with the index of its warp.
    #[doc(hidden)]
    unsafe fn run(self, warp: u32) -> Self::Returns;
}

macro_rules! roles {
    ($(($($index:literal $role:ident $field:tt),*))*) => {$(
        impl<$($role),*> tuples::Sealed for ($($role,)*) {}
        impl<'k, $($role),*, const THREADS: u32> Roles<'k, THREADS> for ($($role,)*)
        where
            $($role: AtPosition<$index> + RoleSpec<'k>,)*
        {
            type Returns = ($($role::Return,)*);
            #[inline(always)]
            unsafe fn run(self, warp: u32) -> Self::Returns {
                let ends = const {
                    let mut next = 0;
                    let mut ends = [0; 6];
                    $(
                        require(
                            $role::WARPS != 4 || next % 4 == 0,
                            "rule D12: a warpgroup starts at a warp whose number is a multiple of four: put warpgroup roles first",
                        );
                        next += $role::WARPS;
                        ends[$index] = next;
                    )*
                    require(
                        next * WARP == THREADS,
                        "rule F1: the roles together are not the CTA's threads: count 128 for each warpgroup and 32 for each warp",
                    );
                    ends
                };
                // The bodies of the other roles are not dropped: what they own belongs to the threads that run them.
                let roles = core::mem::ManuallyDrop::new(self);
                // One choice, and not one for each role: ptxas sees that a warp has done with its role where that ends.
                $(
                    if warp < ends[$index] {
                        // SAFETY: each thread comes to one arm, once, and the tuple is used no more.
                        let role = unsafe { core::ptr::read(&raw const roles.$field) };
                        // SAFETY: exactly the threads of the role come here, once each.
                        let proof = unsafe { role.run() };
                        core::mem::forget(proof);
                    } else
                )* {
                    // SAFETY: the roles' warps are those of the CTA, by the assertion above, and no other is launched.
                    unsafe { core::hint::unreachable_unchecked() }
                }
                // SAFETY: what takes the proofs either is the CTA's end, to which all roles belong, or stands behind
                // `Joined`'s barrier.
                unsafe { ($($role::Return::conjure(),)*) }
            }
        }
    )*};
}
/// Seals the tuples of roles, apart from the tuples of proofs.
mod tuples {
    pub trait Sealed {}
}
roles! {
    (0 A 0)
    (0 A 0, 1 B 1)
    (0 A 0, 1 B 1, 2 C 2)
    (0 A 0, 1 B 1, 2 C 2, 3 D 3)
    (0 A 0, 1 B 1, 2 C 2, 3 D 3, 4 E 4)
    (0 A 0, 1 B 1, 2 C 2, 3 D 3, 4 E 4, 5 F 5)
}

impl<'k, R: RolePosition> Warp<'k, R> {
    /// Elects one lane, which runs `body`; the others have nothing more to do in this role.
    ///
    /// Consumes the warp: what `body` owns is advanced by the elected lane alone, so the other lanes' copies
    /// would be stale.
    ///
    /// # PTX
    /// `elect.sync _|p, 0xffffffff;` PTX 8.0, sm_90 (ISA 9.7.13.14).
    #[inline(always)]
    pub fn elect<F, T>(self, body: F) -> T
    where
        F: FnOnce(Thread<'k, R>) -> T + Send + 'k,
        T: RoleReturn,
    {
        // SAFETY: the warp's token says that all its lanes are here.
        if unsafe { ptx::warp::elect_sync(u32::MAX) } {
            core::mem::forget(body(Thread(PhantomData, PhantomData, PhantomData)));
        } else {
            core::mem::forget(body);
        }
        // SAFETY: the role that returns the proof has ended when `body` has, in the elected lane.
        unsafe { T::conjure() }
    }
}

impl<R: RolePosition> Warpgroup<'_, R> {
    /// Index of this thread's warp in the warpgroup, 0 to 3.
    #[inline(always)]
    pub fn warp_index(&self) -> u32 {
        self.rank() / WARP
    }
}

/// Proof that everything asynchronous that was begun through the field `Tag` has ended.
pub struct Finished<'k, Tag>(Brand<'k>, PhantomData<Tag>, StaysWithItsThreads);

impl<Tag> Finished<'_, Tag> {
    /// # Safety
    /// The caller has waited for every asynchronous operation begun through the field's endpoint, which it
    /// consumes.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Finished(PhantomData, PhantomData, PhantomData)
    }
}

/// The proof that everything that was begun through the end `End` has ended.
///
/// # Safety
/// `Self` is [`Finished<'k, End>`](Finished).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not prove that `{End}` has ended",
    label = "the proof of another end",
    note = "rule D8: tensor memory is deallocated when no matrix instruction writes it and no load reads it any more (PTX ISA \
            9.7.16.7.1)",
    note = "pass what the producer's `finish(&mut t)` and then what the consumer's `finish(&mut wg)` returns"
)]
pub unsafe trait ProofOf<'k, End>: sealed::Sealed {}
// SAFETY: the type itself.
#[diagnostic::do_not_recommend]
unsafe impl<'k, End> ProofOf<'k, End> for Finished<'k, End> {}

impl<Tag> crate::layout::Proof for Finished<'_, Tag> {
    type Before<Rest: crate::layout::Proofs> = Rest::With<Self>;
}

impl<Tag> sealed::Sealed for Finished<'_, Tag> {}
// SAFETY: no data; its truth does not depend on the thread once a barrier has joined the role.
unsafe impl<Tag> RoleReturn for Finished<'_, Tag> {
    #[inline(always)]
    unsafe fn conjure() -> Self {
        Finished(PhantomData, PhantomData, PhantomData)
    }
}
