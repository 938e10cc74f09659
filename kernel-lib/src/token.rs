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

mod closes;
mod exit;
mod roles;
mod set;
mod warps;

use core::marker::PhantomData;

use crate::layout::{Claimed, Layout};
use crate::{ptx, require};

pub use closes::{Closes, ExchangeOf, FillsOf, PassedOf, RequestsOf, StoresOf};
#[doc(hidden)]
pub use closes::{
    ExchangeClosed, FieldIsLeft, Nothing, Places, RelayFinished, RingFinished, StagingFinished,
    StandsFor, TakeoverRefused, TensorMemoryFreed,
};
pub use exit::{Exit, Finished, Joined, PeersJoined, ProofOf};
pub use roles::{
    AtPosition, Role, RolePosition, RoleReturn, RoleSpec, Roles, Thread, Warp, WarpRole, Warpgroup,
    WarpgroupRole, warp, warpgroup,
};
pub(crate) use set::Acts;
pub use set::{FourWarps, SameSet, Set, SingleThread};
pub use warps::Warps;
#[doc(hidden)]
pub use warps::{AreThreads, Before, RoleSize};

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

// SAFETY: nothing implements the bound, and nothing can: what a thread was handed stays with it (I4).
unsafe impl<T: MayBeCaptured> Send for StaysWith<T> {}
// SAFETY: as above.
unsafe impl<T: MayBeCaptured> Sync for StaysWith<T> {}

/// Types that a value is marked with; they say nothing of what it owns.
pub(crate) type Marks<T> = PhantomData<fn() -> T>;

/// Lanes of a warp.
pub const WARP: u32 = 32;

pub(crate) mod sealed {
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not one of the library's own types, and this trait is theirs alone",
        note = "rules F1 and A9: what stands for threads, or says how memory was touched last, is true because only the library makes it",
        note = "take the library's own types: tokens, ends and parts from `cta.claim()` and `cta.roles(…)`, states from `baton::path`"
    )]
    pub trait Sealed {}
}

/// All threads of a CTA: the root token of a kernel.
///
/// `L` is the layout of the CTA's shared memory (before the claim) or [`Claimed<L>`] (after it); `THREADS` is
/// the number of threads, a multiple of 32.
pub struct Cta<'k, L, const THREADS: u32>(Brand<'k>, PhantomData<L>, StaysWithItsThreads);

/// Index of this thread along x, for address arithmetic.
#[inline(always)]
fn thread_x() -> u32 {
    ptx::sreg::tid_x()
}

/// The layout and thread count of a root token, for the entry that `#[baton::kernel]` writes.
#[doc(hidden)]
pub trait RootToken<'k>: Set {
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
            "rule F1: a CTA has 32 to 1024 threads, whole warps: round the number in the type of `Cta`",
        );
        THREADS
    };
    #[inline(always)]
    unsafe fn root() -> Self {
        Cta(PhantomData, PhantomData, PhantomData)
    }
}

impl<'k, L, const THREADS: u32> Cta<'k, L, THREADS> {
    /// Prepares the shared memory that the layout declares and hands out its parts.
    ///
    /// Barriers are initialised by one thread, tensor memory is allocated by one warp (and the permit given
    /// up), `fence.mbarrier_init.release.cluster` makes barriers visible to the async proxy where it or a peer reaches them,
    /// and a CTA barrier to every thread: no part exists before that (rules C1, C2, D8, D9). The CTAs of a pair meet before they allocate, which
    /// both take part in (rule D13).
    #[inline(always)]
    pub fn claim<P>(
        self, // C2: shared memory is claimed once; go on with the CTA and the parts that this returns
    ) -> (Cta<'k, Claimed<L>, THREADS>, P)
    where
        L: Layout<Parts<'k> = P>,
    {
        let mut cta = Cta(PhantomData, PhantomData, PhantomData);
        // SAFETY: the token of the unclaimed layout is consumed, and there is one for each thread, so this is called once (I1,
        // I6); all threads of the CTA are here (I2).
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
    note = "write `let (cta, parts) = cta.claim();`, which does that, and gives the parts that the roles use"
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
        self, // F1: each role has a token of its own threads, and none has the CTA's; go on with what this returns
        roles: R,
    ) -> (Joined<'k, L, THREADS>, R::Returns)
    where
        L: IsClaimed,
    {
        ptx::mark::roles::<R, THREADS>();
        // SAFETY: the CTA's token is consumed, so every thread passes here once, all of them with the same `R` (I1, I2); what is in
        // `R` is of this run (I3).
        let returns = unsafe { roles.run(thread_x() / WARP) };
        (Joined::new(), returns)
    }

    /// Keeps the CTA together: for kernels in which all threads do the same.
    #[inline(always)]
    pub fn join(
        self, // F1: the threads of the CTA stay together; go on with what this returns
    ) -> Joined<'k, L, THREADS>
    where
        L: IsClaimed,
    {
        Joined::new()
    }
}
