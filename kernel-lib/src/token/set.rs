//! What every set of threads can do, and the sets that instructions ask for.

use crate::ptx;
use crate::ptx::mark::One;

use super::{Cta, Joined, RolePosition, Thread, WARP, Warp, Warpgroup, thread_x};

/// A set of threads that acts together.
///
/// # PTX
/// [`barrier`](Set::barrier) is `bar.sync` with the set's own barrier number (CTA, warpgroup) or
/// `bar.warp.sync` (warp); ISA 9.7.13.1 and 9.7.13.2. It orders the memory accesses of the set's threads
/// (ISA 8.9.4): what one wrote before it, all read after it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the token of a set of threads",
    note = "rule F1: what a set of threads does together takes the set's token",
    note = "pass `&mut` of the token that the kernel or role received: `Cta`, `Warpgroup`, `Warp` or `Thread`"
)]
#[expect(private_bounds, reason = "what the library does for a set is no other crate's to call")]
pub trait Set: Acts {
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
}

/// What the operations of the library do with a set.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of threads that the library knows",
    label = "not a token",
    note = "rules F1 and C9: a token stands for threads because the library made it for them, and barriers count as many as it says",
    note = "take the tokens that the kernel and its roles receive: `Cta`, `Warpgroup`, `Warp` and `Thread`"
)]
pub(crate) trait Acts {
    /// Runs `action` in the set's leader alone.
    fn lead(&mut self, action: impl FnOnce());
    /// The set's barrier, which also says whether some thread of the set passes `true`: the same answer for all.
    fn barrier_any(&mut self, vote: bool) -> bool;
    /// What its leader does for all, it does with `one`: the builder checks that this is one value for the set.
    fn agree_on(&mut self, one: impl One);
    /// The set's barrier, before or behind what its leader does with `one` for all.
    #[inline(always)]
    fn barrier_for(&mut self, one: impl One)
    where
        Self: Set,
    {
        self.agree_on(one);
        self.barrier();
    }
    /// The set's number in the marks that say who holds an end: the CTA, the joined CTA, then three for each role.
    #[cfg_attr(
        not(target_arch = "nvptx64"),
        expect(dead_code, reason = "marks stand in PTX alone")
    )]
    const HOLDER: u32;
}

/// The [number](Acts::HOLDER) of a set of a role: of the warpgroup, of the warp, or of the thread that it elected.
const fn of_role<R: RolePosition>(kind: u32) -> u32 {
    2 + 3 * R::INDEX + kind
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

// SAFETY: one type names one set of threads (I1); so an end is used, and a group awaited, by the set that has it (I9, I19).
unsafe impl<S: Set> SameSet<S> for S {}

impl<L, const THREADS: u32> Set for Cta<'_, L, THREADS> {
    const THREADS: u32 = THREADS;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x()
    }
    #[inline(always)]
    fn barrier(&mut self) {
        // SAFETY: the token stands for all threads of the CTA (I1), each of which is at this call (I2); barrier 0 is the
        // CTA's own (roles use 1 and up).
        unsafe { ptx::barrier::bar_sync(0) }
    }
}
impl<L, const THREADS: u32> Acts for Cta<'_, L, THREADS> {
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        lead_a_warp(self.rank(), action)
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        // SAFETY: as in `barrier`.
        unsafe { ptx::barrier::bar_red_or(0, vote) }
    }
    #[inline(always)]
    fn agree_on(&mut self, one: impl One) {
        one.agreed_in_cta()
    }
    const HOLDER: u32 = 0;
}

impl<L, const THREADS: u32> Set for Joined<'_, L, THREADS> {
    const THREADS: u32 = THREADS;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x()
    }
    #[inline(always)]
    fn barrier(&mut self) {
        self.gather();
        // SAFETY: every role has ended or ends, so all threads come here (I1, I2), and their warps are whole; nobody uses the CTA's
        // own barrier otherwise.
        unsafe { ptx::barrier::bar_sync(0) }
    }
}
impl<L, const THREADS: u32> Acts for Joined<'_, L, THREADS> {
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
    #[inline(always)]
    fn agree_on(&mut self, one: impl One) {
        one.agreed_in_cta()
    }
    const HOLDER: u32 = 1;
}

impl<R: RolePosition> Set for Warpgroup<'_, R> {
    const THREADS: u32 = 4 * WARP;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x() % Self::THREADS
    }
    #[inline(always)]
    fn barrier(&mut self) {
        // SAFETY: the token stands for the 128 threads of the role (I1), each of which is at this call (I2); the number
        // belongs to the role's position alone.
        unsafe { ptx::barrier::bar_sync_count(1 + R::INDEX, Self::THREADS) }
    }
}
impl<R: RolePosition> Acts for Warpgroup<'_, R> {
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        lead_a_warp(self.rank(), action)
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        // SAFETY: as in `barrier`.
        unsafe { ptx::barrier::bar_red_or_count(1 + R::INDEX, Self::THREADS, vote) }
    }
    #[inline(always)]
    fn agree_on(&mut self, one: impl One) {
        one.agreed_in_group()
    }
    const HOLDER: u32 = of_role::<R>(0);
}
impl<R: RolePosition> FourWarps for Warpgroup<'_, R> {}

impl<R: RolePosition> Set for Warp<'_, R> {
    const THREADS: u32 = WARP;
    #[inline(always)]
    fn rank(&self) -> u32 {
        thread_x() % WARP
    }
    #[inline(always)]
    fn barrier(&mut self) {
        // SAFETY: the token stands for the 32 lanes of the warp (I1), each of which is at this call (I2).
        unsafe { ptx::barrier::bar_warp_sync(u32::MAX) }
    }
}
impl<R: RolePosition> Acts for Warp<'_, R> {
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
    #[inline(always)]
    fn agree_on(&mut self, one: impl One) {
        one.agreed_in_warp()
    }
    const HOLDER: u32 = of_role::<R>(1);
}

impl<R: RolePosition> Set for Thread<'_, R> {
    const THREADS: u32 = 1;
    #[inline(always)]
    fn rank(&self) -> u32 {
        0
    }
    #[inline(always)]
    fn barrier(&mut self) {}
}
impl<R: RolePosition> Acts for Thread<'_, R> {
    #[inline(always)]
    fn lead(&mut self, action: impl FnOnce()) {
        action()
    }
    #[inline(always)]
    fn barrier_any(&mut self, vote: bool) -> bool {
        vote
    }
    #[inline(always)]
    fn agree_on(&mut self, _one: impl One) {}
    const HOLDER: u32 = of_role::<R>(2);
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
