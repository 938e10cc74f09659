//! Barriers in shared memory.
//!
//! An mbarrier is a 64-bit object that counts, for its current phase, pending arrivals and pending
//! bytes; the phase completes when both are zero, and the next one starts with the count given at
//! `init`. An arrive releases, a wait that returned `true` acquires, and only then. Phases are told
//! apart by a [`State`] that an arrive returned, or by the parity of the phase's number: waiting for
//! parity 1 succeeds on a fresh barrier, because the phase before the first counts as complete.
//!
//! Barriers are waited for only where they are: `test_wait` and `try_wait` take `.shared::cta`. A peer
//! of the cluster can arrive on one (the functions in `…_remote`), and gets no state from it.
//!
//! ISA: *mbarrier* and its subsections; memory model 8.8. `cp.async.mbarrier.arrive` is
//! with [`cp_async`](super::cp_async). Left out: arrives with `.multicast`, which none of our targets has, and
//! `.phase_type`, which ptxas 13.5 does not know.

use core::marker::PhantomData;

use super::addr::{Addr, Shared, SharedCluster, SharedCta};
use crate::scope::WithinCluster;
use crate::sem::{ArriveSem, WaitSem};

/// What an arrive returns: the phase that it arrived on, to be waited for on the same barrier.
///
/// Opaque and tied to its barrier by nothing: the layer above keeps the two together (rule C4). `A` is the kind of arrive
/// that it comes from.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct State<A = Arrive>(u64, PhantomData<A>);

/// An arrive that may complete the phase.
#[derive(Clone, Copy, Debug)]
pub enum Arrive {}
/// An arrive that does not complete the phase, `.noComplete`.
#[derive(Clone, Copy, Debug)]
pub enum NoComplete {}

/// An arrive whose state says how many arrivals were pending.
#[diagnostic::on_unimplemented(
    message = "the state of this arrive, `{Self}`, does not say how many arrivals are pending",
    label = "not from a `.noComplete` arrive",
    note = "rule C12: `mbarrier.pending_count` takes the state of an `mbarrier.arrive.noComplete` or `arrive_drop.noComplete`, \
            and no other \
            (PTX ISA, mbarrier.pending_count)",
    note = "take the state of `arrive_no_complete` or `arrive_drop_no_complete`, which must not complete the phase"
)]
pub trait CountsPending: sealed::Sealed {}
impl sealed::Sealed for NoComplete {}
impl CountsPending for NoComplete {}

impl State<NoComplete> {
    /// The same phase, to be waited for.
    #[inline(always)]
    pub const fn phase(self) -> State {
        State(self.0, PhantomData)
    }
}

/// `mbarrier.init.shared::cta.b64 [bar], count;` PTX 7.0, sm_80.
///
/// ISA: *mbarrier.init*. Can break C1, C2, C9.
///
/// # Safety
/// 1. `bar` is aligned to 8 bytes, and its 8 bytes in shared memory belong to nothing else.
/// 2. No live mbarrier is there (C2), and no other thread uses it before this initialisation has been
///    made visible to it (C1).
/// 3. `count` is from 1 to 2²⁰ − 1.
#[inline(always)]
pub unsafe fn init(bar: Addr<SharedCta>, count: u32) {
    device! {
        asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) bar.raw(), in(reg32) count, options(nostack))
    }
}

/// How an mbarrier's 64 bits are laid out: [`V0`] or [`V1`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no layout of an mbarrier",
    label = "expected `V0` or `V1`"
)]
pub trait Layout: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const VERSION: u8;
}

mod sealed {
    pub trait Sealed {}
}

/// `.layout::v0`: that of [`init`], with counts up to 2²⁰ − 1.
#[derive(Clone, Copy, Debug)]
pub struct V0;
/// `.layout::v1`: with counts up to 511.
#[derive(Clone, Copy, Debug)]
pub struct V1;
impl sealed::Sealed for V0 {}
impl sealed::Sealed for V1 {}
impl Layout for V0 {
    const VERSION: u8 = 0;
}
impl Layout for V1 {
    const VERSION: u8 = 1;
}

/// `mbarrier.init.layout::vN.shared::cta.b64 [bar], count;` PTX 9.3, sm_90.
///
/// As [`init`], in the layout named.
///
/// ISA: *mbarrier.init*. Can break C1, C2, C9.
///
/// # Safety
/// 1. As for [`init`]; with [`V1`], `count` is at most 511.
#[inline(always)]
pub unsafe fn init_layout<L: Layout>(bar: Addr<SharedCta>, count: u32) {
    device! {
        match const { L::VERSION } {
            0 => asm!(
                "mbarrier.init.layout::v0.shared::cta.b64 [{}], {};",
                in(reg32) bar.raw(), in(reg32) count, options(nostack)
            ),
            _ => asm!(
                "mbarrier.init.layout::v1.shared::cta.b64 [{}], {};",
                in(reg32) bar.raw(), in(reg32) count, options(nostack)
            ),
        }
    }
}

/// `mbarrier.check_layout.layout::vN.shared::cta.b64 p, [bar];` PTX 9.3, sm_90.
///
/// Whether the barrier is in the layout named.
///
/// ISA: *mbarrier.check_layout*. Can break C1, C2.
///
/// # Safety
/// 1. A live mbarrier is at `bar`, its initialisation visible to this thread.
#[inline(always)]
pub unsafe fn check_layout<L: Layout>(bar: Addr<SharedCta>) -> bool {
    device! {
        let is: u32;
        macro_rules! emit {
            ($layout:literal) => {
                asm!(
                    "{{",
                    ".reg .pred is;",
                    concat!("mbarrier.check_layout", $layout, ".shared::cta.b64 is, [{}];"),
                    "selp.u32 {}, 1, 0, is;",
                    "}}",
                    in(reg32) bar.raw(), out(reg32) is, options(nostack)
                )
            };
        }
        match const { L::VERSION } {
            0 => emit!(".layout::v0"),
            _ => emit!(".layout::v1"),
        }
        is != 0
    }
}

/// `mbarrier.inval.shared::cta.b64 [bar];` PTX 7.0, sm_80.
///
/// After it the memory may be used for something else.
///
/// ISA: *mbarrier.inval*. Can break C2.
///
/// # Safety
/// 1. A live mbarrier is at `bar`, and nobody uses it any more.
#[inline(always)]
pub unsafe fn inval(bar: Addr<SharedCta>) {
    device! { asm!("mbarrier.inval.shared::cta.b64 [{}];", in(reg32) bar.raw(), options(nostack)) }
}

/// The forms of an arrive differ in mnemonic, operand and space alone.
macro_rules! arrives {
    ($($(#[$doc:meta])* $name:ident($($arg:ident)?) = $mnemonic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. A live mbarrier is at `bar`, its initialisation visible to this thread.
        /// 2. The arrivals of each phase sum to its expected count, and the bytes expected to those that
        ///    complete on it.
        /// 3. This thread observed the completion of the phase before the one it arrives on.
        #[inline(always)]
        pub unsafe fn $name<M: ArriveSem, S: WithinCluster>(bar: Addr<SharedCta> $(, $arg: u32)?) -> State {
            device! {
                let state: u64;
                macro_rules! emit {
                    ($sem:literal $scope:literal) => {
                        asm!(
                            concat!($mnemonic, $sem, $scope, ".shared::cta.b64 {}, [{}]" $(, ", {", stringify!($arg), "}")?, ";"),
                            out(reg64) state, in(reg32) bar.raw(), $($arg = in(reg32) $arg,)?
                            options(nostack)
                        )
                    };
                }
                select!(emit [] store_sem M, within_cluster S);
                State(state, PhantomData)
            }
        }
    )*};
}

arrives! {
    /// `mbarrier.arrive.sem.scope.shared::cta.b64 state, [bar];` PTX 8.0, sm_80; `.relaxed`: PTX 8.6, sm_90.
    ///
    /// One arrival. The state may be ignored: the instruction is the same.
    ///
    /// ISA: *mbarrier.arrive*. Can break A4 (relaxed), A5, C3, C9, C10.
    arrive() = "mbarrier.arrive";

    /// `mbarrier.arrive.sem.scope.shared::cta.b64 state, [bar], count;` PTX 8.0, sm_90; `.relaxed`:
    /// PTX 8.6.
    ///
    /// `count` arrivals at once.
    ///
    /// ISA: *mbarrier.arrive*. Can break A4 (relaxed), A5, C3, C9, C10.
    arrive_count(count) = "mbarrier.arrive";

    /// `mbarrier.arrive.expect_tx.sem.scope.shared::cta.b64 state, [bar], bytes;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// Adds `bytes` to what the phase waits for, then arrives once.
    ///
    /// ISA: *mbarrier.arrive*. Can break A4 (relaxed), A5, C3, C8, C9, C10.
    arrive_expect_tx(bytes) = "mbarrier.arrive.expect_tx";

    /// `mbarrier.arrive_drop.sem.scope.shared::cta.b64 state, [bar];` PTX 8.0, sm_80; `.relaxed`: PTX
    /// 8.6, sm_90.
    ///
    /// Arrives, and lowers the expected count of all later phases by one; it must not reach zero.
    ///
    /// ISA: *mbarrier.arrive_drop*. Can break A4 (relaxed), A5, C9.
    arrive_drop() = "mbarrier.arrive_drop";

    /// `mbarrier.arrive_drop.sem.scope.shared::cta.b64 state, [bar], count;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// ISA: *mbarrier.arrive_drop*. Can break A4 (relaxed), A5, C9.
    arrive_drop_count(count) = "mbarrier.arrive_drop";

    /// `mbarrier.arrive_drop.expect_tx.sem.scope.shared::cta.b64 state, [bar], bytes;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// ISA: *mbarrier.arrive_drop*. Can break A4 (relaxed), A5, C8, C9.
    arrive_drop_expect_tx(bytes) = "mbarrier.arrive_drop.expect_tx";
}

/// As [`arrives`], on a barrier of any CTA of the cluster: there is no state to return.
macro_rules! remote_arrives {
    ($($(#[$doc:meta])* $name:ident($($arg:ident)?) = $mnemonic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. A live mbarrier is at `bar`, its initialisation visible to this thread, and the CTA it is in
        ///    has started and not exited.
        /// 2. The arrivals of each phase sum to its expected count, and the bytes expected to those that
        ///    complete on it.
        /// 3. The phase that this arrives on is the one meant: the one before it is known to be complete.
        #[inline(always)]
        pub unsafe fn $name<M: ArriveSem, S: WithinCluster>(bar: Addr<SharedCluster> $(, $arg: u32)?) {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal) => {
                        asm!(
                            concat!($mnemonic, $sem, $scope, ".shared::cluster.b64 _, [{}]" $(, ", {", stringify!($arg), "}")?, ";"),
                            in(reg32) bar.raw(), $($arg = in(reg32) $arg,)?
                            options(nostack)
                        )
                    };
                }
                select!(emit [] store_sem M, within_cluster S)
            }
        }
    )*};
}

remote_arrives! {
    /// `mbarrier.arrive.sem.scope.shared::cluster.b64 _, [bar];` PTX 8.0, sm_90; `.relaxed`: PTX 8.6.
    ///
    /// ISA: *mbarrier.arrive*. Can break A4 (relaxed), C7 (`Cta` scope), C9, C11, F3.
    arrive_remote() = "mbarrier.arrive";

    /// `mbarrier.arrive.sem.scope.shared::cluster.b64 _, [bar], count;` PTX 8.0, sm_90; `.relaxed`:
    /// PTX 8.6.
    ///
    /// ISA: *mbarrier.arrive*. Can break A4 (relaxed), C7 (`Cta` scope), C9, C11, F3.
    arrive_count_remote(count) = "mbarrier.arrive";

    /// `mbarrier.arrive.expect_tx.sem.scope.shared::cluster.b64 _, [bar], bytes;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// ISA: *mbarrier.arrive*. Can break A4 (relaxed), C7 (`Cta` scope), C8, C9, C11, F3.
    arrive_expect_tx_remote(bytes) = "mbarrier.arrive.expect_tx";

    /// `mbarrier.arrive_drop.sem.scope.shared::cluster.b64 _, [bar];` PTX 8.0, sm_90; `.relaxed`: PTX
    /// 8.6.
    ///
    /// ISA: *mbarrier.arrive_drop*. Can break A4 (relaxed), C7 (`Cta` scope), C9, C11, F3.
    arrive_drop_remote() = "mbarrier.arrive_drop";

    /// `mbarrier.arrive_drop.sem.scope.shared::cluster.b64 _, [bar], count;` PTX 8.0, sm_90; `.relaxed`:
    /// PTX 8.6.
    ///
    /// ISA: *mbarrier.arrive_drop*. Can break A4 (relaxed), C7 (`Cta` scope), C9, C11, F3.
    arrive_drop_count_remote(count) = "mbarrier.arrive_drop";

    /// `mbarrier.arrive_drop.expect_tx.sem.scope.shared::cluster.b64 _, [bar], bytes;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// ISA: *mbarrier.arrive_drop*. Can break A4 (relaxed), C7 (`Cta` scope), C8, C9, C11, F3.
    arrive_drop_expect_tx_remote(bytes) = "mbarrier.arrive_drop.expect_tx";
}

/// `mbarrier.arrive.noComplete.release.cta.shared::cta.b64 state, [bar], count;` PTX 8.0, sm_80.
///
/// ISA: *mbarrier.arrive*. Can break C12.
///
/// # Safety
/// 1. As for [`arrive`].
/// 2. This arrive does not complete the phase.
#[inline(always)]
pub unsafe fn arrive_no_complete(bar: Addr<SharedCta>, count: u32) -> State<NoComplete> {
    device! {
        let state: u64;
        asm!(
            "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 {}, [{}], {};",
            out(reg64) state, in(reg32) bar.raw(), in(reg32) count, options(nostack)
        );
        State(state, PhantomData)
    }
}

/// `mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 state, [bar], count;` PTX 8.0, sm_80.
///
/// ISA: *mbarrier.arrive_drop*. Can break C12.
///
/// # Safety
/// 1. As for [`arrive_drop`].
/// 2. This arrive does not complete the phase.
#[inline(always)]
pub unsafe fn arrive_drop_no_complete(bar: Addr<SharedCta>, count: u32) -> State<NoComplete> {
    device! {
        let state: u64;
        asm!(
            "mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 {}, [{}], {};",
            out(reg64) state, in(reg32) bar.raw(), in(reg32) count, options(nostack)
        );
        State(state, PhantomData)
    }
}

/// `mbarrier.pending_count.b64 count, state;` PTX 7.0, sm_80.
///
/// ISA: *mbarrier.pending_count*. Can break C12.
///
/// # Safety
/// 1. `state` came from such an arrive on a barrier that is still the same.
#[inline(always)]
pub unsafe fn pending_count<A: CountsPending>(state: State<A>) -> u32 {
    device! {
        let count: u32;
        asm!(
            "mbarrier.pending_count.b64 {}, {};",
            out(reg32) count, in(reg64) state.0, options(pure, nomem, nostack)
        );
        count
    }
}

/// `mbarrier.expect_tx.relaxed.scope.space.b64 [bar], bytes;` PTX 8.0, sm_90.
///
/// Adds `bytes` to what the current phase waits for, without arriving.
///
/// ISA: *mbarrier.expect_tx*. Can break C8.
///
/// # Safety
/// 1. A live mbarrier is at `bar`, its initialisation visible to this thread; in a peer's shared memory,
///    the peer has started and not exited.
/// 2. The current phase cannot complete before this operation, and the bytes that it will have expected
///    are those that complete on it; the pending count stays within ±(2²⁰ − 1).
#[inline(always)]
pub unsafe fn expect_tx<S: WithinCluster, Sp: Shared>(bar: Addr<Sp>, bytes: u32) {
    device! {
        macro_rules! emit {
            ($scope:literal $space:literal) => {
                asm!(
                    concat!("mbarrier.expect_tx.relaxed", $scope, $space, ".b64 [{}], {};"),
                    in(reg32) bar.widened() as u32, in(reg32) bytes, options(nostack)
                )
            };
        }
        select!(emit [] within_cluster S, shared Sp)
    }
}

/// `mbarrier.complete_tx.relaxed.scope.space.b64 [bar], bytes;` PTX 8.0, sm_90.
///
/// Completes `bytes` by hand, as a copy would.
///
/// ISA: *mbarrier.complete_tx*. Can break B6, C8.
///
/// # Safety
/// 1. As (1) of [`expect_tx`].
/// 2. The bytes that the current phase expects are those that complete on it.
#[inline(always)]
pub unsafe fn complete_tx<S: WithinCluster, Sp: Shared>(bar: Addr<Sp>, bytes: u32) {
    device! {
        macro_rules! emit {
            ($scope:literal $space:literal) => {
                asm!(
                    concat!("mbarrier.complete_tx.relaxed", $scope, $space, ".b64 [{}], {};"),
                    in(reg32) bar.widened() as u32, in(reg32) bytes, options(nostack)
                )
            };
        }
        select!(emit [] within_cluster S, shared Sp)
    }
}

/// The forms of a wait differ in mnemonic and in how the phase is named.
macro_rules! waits {
    ($($(#[$doc:meta])* $name:ident($phase:ident: $ty:ty as $class:ident $bits:expr) = $mnemonic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. A live mbarrier is at `bar`, its initialisation visible to this thread.
        /// 2. The phase named is the current one or the one right before it.
        /// 3. After `true`, only what an [`Acquire`](crate::sem::Acquire) wait of a scope that includes the
        ///    arriving threads made visible is read; after a relaxed wait, nothing before an acquiring fence.
        #[must_use = "false means that the phase is not complete"]
        #[inline(always)]
        pub unsafe fn $name<M: WaitSem, S: WithinCluster>(bar: Addr<SharedCta>, $phase: $ty) -> bool {
            device! {
                let complete: u32;
                macro_rules! emit {
                    ($sem:literal $scope:literal) => {
                        asm!(
                            "{{",
                            ".reg .pred complete;",
                            concat!($mnemonic, $sem, $scope, ".shared::cta.b64 complete, [{}], {};"),
                            "selp.u32 {}, 1, 0, complete;",
                            "}}",
                            in(reg32) bar.raw(), in($class) $bits, out(reg32) complete,
                            options(nostack)
                        )
                    };
                }
                select!(emit [] load_sem M, within_cluster S);
                complete != 0
            }
        }
    )*};
}

waits! {
    /// `mbarrier.test_wait.sem.scope.shared::cta.b64 complete, [bar], state;` PTX 8.0, sm_80;
    /// `.relaxed`: PTX 8.6, sm_90.
    ///
    /// ISA: *mbarrier.test_wait, mbarrier.try_wait*. Can break A5, C1, C4, C5, C6.
    test_wait(state: State as reg64 state.0) = "mbarrier.test_wait";

    /// `mbarrier.test_wait.parity.sem.scope.shared::cta.b64 complete, [bar], parity;` PTX 8.0, sm_80;
    /// `.relaxed`: PTX 8.6, sm_90.
    ///
    /// ISA: *mbarrier.test_wait, mbarrier.try_wait*. Can break A5, C1, C3, C5, C6, C13.
    test_wait_parity(parity: u32 as reg32 parity) = "mbarrier.test_wait.parity";

    /// `mbarrier.try_wait.sem.scope.shared::cta.b64 complete, [bar], state;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// May suspend the thread for a time that the system chooses.
    ///
    /// ISA: *mbarrier.test_wait, mbarrier.try_wait*. Can break A5, C1, C4, C5, C6.
    try_wait(state: State as reg64 state.0) = "mbarrier.try_wait";

    /// `mbarrier.try_wait.parity.sem.scope.shared::cta.b64 complete, [bar], parity;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// May suspend the thread for a time that the system chooses.
    ///
    /// ISA: *mbarrier.test_wait, mbarrier.try_wait*. Can break A5, C1, C3, C5, C6, C13.
    try_wait_parity(parity: u32 as reg32 parity) = "mbarrier.try_wait.parity";
}

/// As [`waits`], with a limit to the time that the thread may be suspended.
macro_rules! limited_waits {
    ($($(#[$doc:meta])* $name:ident($phase:ident: $ty:ty as $class:ident $bits:expr) = $mnemonic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. As for [`try_wait`].
        #[must_use = "false means that the phase is not complete"]
        #[inline(always)]
        pub unsafe fn $name<M: WaitSem, S: WithinCluster>(
            bar: Addr<SharedCta>,
            $phase: $ty,
            nanoseconds: u32,
        ) -> bool {
            device! {
                let complete: u32;
                macro_rules! emit {
                    ($sem:literal $scope:literal) => {
                        asm!(
                            "{{",
                            ".reg .pred complete;",
                            concat!($mnemonic, $sem, $scope, ".shared::cta.b64 complete, [{}], {}, {};"),
                            "selp.u32 {}, 1, 0, complete;",
                            "}}",
                            in(reg32) bar.raw(), in($class) $bits, in(reg32) nanoseconds, out(reg32) complete,
                            options(nostack)
                        )
                    };
                }
                select!(emit [] load_sem M, within_cluster S);
                complete != 0
            }
        }
    )*};
}

limited_waits! {
    /// `mbarrier.try_wait.sem.scope.shared::cta.b64 complete, [bar], state, nanoseconds;` PTX 8.0, sm_90;
    /// `.relaxed`: PTX 8.6.
    ///
    /// ISA: *mbarrier.test_wait, mbarrier.try_wait*. Can break A5, C1, C4, C5, C6.
    try_wait_for(state: State as reg64 state.0) = "mbarrier.try_wait";

    /// `mbarrier.try_wait.parity.sem.scope.shared::cta.b64 complete, [bar], parity, nanoseconds;` PTX 8.0,
    /// sm_90; `.relaxed`: PTX 8.6.
    ///
    /// ISA: *mbarrier.test_wait, mbarrier.try_wait*. Can break A5, C1, C3, C5, C6, C13.
    try_wait_parity_for(parity: u32 as reg32 parity) = "mbarrier.try_wait.parity";
}

/// [`try_wait`] until it returns `true`.
///
/// # Safety
/// As for [`try_wait`].
#[inline(always)]
pub unsafe fn wait<M: WaitSem, S: WithinCluster>(bar: Addr<SharedCta>, state: State) {
    // SAFETY: the obligations are those of this function.
    while !unsafe { try_wait::<M, S>(bar, state) } {}
}

/// [`try_wait_parity`] until it returns `true`.
///
/// # Safety
/// As for [`try_wait_parity`].
#[inline(always)]
pub unsafe fn wait_parity<M: WaitSem, S: WithinCluster>(bar: Addr<SharedCta>, parity: u32) {
    // SAFETY: the obligations are those of this function.
    while !unsafe { try_wait_parity::<M, S>(bar, parity) } {}
}
