//! Execution barriers: of a CTA, of a warp, of a cluster.
//!
//! A barrier orders the memory operations of its participants on both sides of it (at the scope of the
//! barrier), and it holds only if exactly the threads meant take part. The `.aligned` forms also need
//! every thread of the warp to reach the *same* instruction together; they are the cheaper ones.
//!
//! A CTA has sixteen barriers, numbered 0 to 15; `bar.sync 0` is CUDA's `__syncthreads`.
//!
//! `bar` is `barrier.cta` with `.aligned`, and `barrier` is `barrier.cta`: the longer names are not written.
//!
//! ISA: *bar, barrier*; *bar.warp.sync*; *barrier.cluster*; memory model 8.9.4.

use crate::sem::ArriveSem;

/// `bar.sync id;` PTX 1.0. All threads of the CTA, warps converged (`barrier.cta.sync.aligned`).
///
/// ISA: *bar, barrier*. Can break F1, F4, F7.
///
/// # Safety
/// 1. Every thread of the CTA executes it, each warp as a whole, and no thread waits at another barrier
///    meanwhile.
/// 2. `id` is at most 15, and this barrier is not in use with another count.
#[inline(always)]
pub unsafe fn bar_sync(id: u32) {
    device! {
        super::anchor();
        asm!("//@baton collective bar.sync", "bar.sync {};", in(reg32) id, options(nostack))
    }
}

/// `bar.sync id, threads;` PTX 2.0. `threads` threads in whole warps.
///
/// ISA: *bar, barrier*. Can break F1, F4, F7.
///
/// # Safety
/// 1. The warps that execute `bar.sync` or [`bar_arrive`] with this `id` hold `threads` threads in
///    total, each warp as a whole.
/// 2. `id` is at most 15; `threads` is a positive multiple of 32, and everybody gives the same.
#[inline(always)]
pub unsafe fn bar_sync_count(id: u32, threads: u32) {
    device! {
        super::anchor();
        asm!(
            "//@baton collective bar.sync",
            "bar.sync {}, {};",
            in(reg32) id, in(reg32) threads, options(nostack)
        )
    }
}

/// `bar.arrive id, threads;` PTX 2.0. Takes part and does not wait.
///
/// ISA: *bar, barrier*. Can break F1, F4, F7.
///
/// # Safety
/// 1. As (1) and (2) of [`bar_sync_count`].
/// 2. This warp does not arrive again on this barrier before the others have passed it.
#[inline(always)]
pub unsafe fn bar_arrive(id: u32, threads: u32) {
    device! {
        super::anchor();
        asm!(
            "//@baton collective bar.arrive",
            "bar.arrive {}, {};",
            in(reg32) id, in(reg32) threads, options(nostack)
        )
    }
}

/// `barrier.sync id;` PTX 6.0. All threads of the CTA, warps diverged or not.
///
/// ISA: *bar, barrier*. Can break F1, F7.
///
/// # Safety
/// 1. Every thread of the CTA executes it.
/// 2. `id` is at most 15, and this barrier is not in use with another count.
#[inline(always)]
pub unsafe fn barrier_sync(id: u32) {
    device! {
        super::anchor();
        asm!("//@baton collective barrier.sync", "barrier.sync {};", in(reg32) id, options(nostack))
    }
}

/// `barrier.sync id, threads;` PTX 6.0. `threads` threads, warps diverged or not.
///
/// ISA: *bar, barrier*. Can break F1, F7.
///
/// # Safety
/// 1. The threads that execute `barrier.sync` or [`barrier_arrive`] with this `id` are `threads` in
///    total, in whole warps.
/// 2. `id` is at most 15; `threads` is a positive multiple of 32, and everybody gives the same.
#[inline(always)]
pub unsafe fn barrier_sync_count(id: u32, threads: u32) {
    device! {
        super::anchor();
        asm!(
            "//@baton collective barrier.sync",
            "barrier.sync {}, {};",
            in(reg32) id, in(reg32) threads, options(nostack)
        )
    }
}

/// `barrier.arrive id, threads;` PTX 6.0.
///
/// ISA: *bar, barrier*. Can break F1, F7.
///
/// # Safety
/// 1. As (1) and (2) of [`barrier_sync_count`].
/// 2. This thread does not arrive again on this barrier before the others have passed it.
#[inline(always)]
pub unsafe fn barrier_arrive(id: u32, threads: u32) {
    device! {
        super::anchor();
        asm!(
            "//@baton collective barrier.arrive",
            "barrier.arrive {}, {};",
            in(reg32) id, in(reg32) threads, options(nostack)
        )
    }
}

/// The barriers that also reduce a vote of their threads.
macro_rules! voting_barriers {
    ($($(#[$doc:meta])* $name:ident($($threads:ident)?) -> $result:ident = $text:literal $tag:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *bar, barrier*. Can break F1, F4 (`bar`), F7.
        ///
        /// # Safety
        /// 1. As for the `sync` of the same name: who executes it, with which `id` and count.
        #[inline(always)]
        pub unsafe fn $name(id: u32, $($threads: u32,)? vote: bool) -> $result {
            device! {
                super::anchor();
                let result: u32;
                voting_barriers!(@$result $text $tag result id vote $($threads)?);
                voting_barriers!(@value $result result)
            }
        }
    )*};
    (@u32 $text:literal $tag:literal $result:ident $id:ident $vote:ident $($threads:ident)?) => {
        asm!(
            "{{",
            ".reg .pred vote;",
            "setp.ne.b32 vote, {vote}, 0;",
            concat!("//@baton collective ", $tag),
            concat!($text, ".popc.u32 {result}, {id}" $(, ", {", stringify!($threads), "}")?, ", vote;"),
            "}}",
            vote = in(reg32) $vote as u32, result = out(reg32) $result, id = in(reg32) $id,
            $($threads = in(reg32) $threads,)? options(nostack)
        )
    };
    (@bool $text:literal $tag:literal $result:ident $id:ident $vote:ident $($threads:ident)?) => {
        asm!(
            "{{",
            ".reg .pred vote, result;",
            "setp.ne.b32 vote, {vote}, 0;",
            concat!("//@baton collective ", $tag),
            concat!($text, ".pred result, {id}" $(, ", {", stringify!($threads), "}")?, ", vote;"),
            "selp.u32 {result}, 1, 0, result;",
            "}}",
            vote = in(reg32) $vote as u32, result = out(reg32) $result, id = in(reg32) $id,
            $($threads = in(reg32) $threads,)? options(nostack)
        )
    };
    (@value u32 $result:ident) => { $result };
    (@value bool $result:ident) => { $result != 0 };
}

voting_barriers! {
    /// `bar.red.popc.u32 d, id, vote;` PTX 2.0. How many threads voted `true`.
    bar_red_popc() -> u32 = "bar.red" "bar.red";
    /// `bar.red.and.pred p, id, vote;` PTX 2.0. Whether all threads voted `true`.
    bar_red_and() -> bool = "bar.red.and" "bar.red";
    /// `bar.red.or.pred p, id, vote;` PTX 2.0. Whether some thread voted `true`.
    bar_red_or() -> bool = "bar.red.or" "bar.red";
    /// `bar.red.popc.u32 d, id, threads, vote;` PTX 2.0. As [`bar_red_popc`], for `threads` threads.
    bar_red_popc_count(threads) -> u32 = "bar.red" "bar.red";
    /// `bar.red.and.pred p, id, threads, vote;` PTX 2.0. As [`bar_red_and`], for `threads` threads.
    bar_red_and_count(threads) -> bool = "bar.red.and" "bar.red";
    /// `bar.red.or.pred p, id, threads, vote;` PTX 2.0. As [`bar_red_or`], for `threads` threads.
    bar_red_or_count(threads) -> bool = "bar.red.or" "bar.red";
    /// `barrier.red.popc.u32 d, id, vote;` PTX 6.0. How many threads voted `true`, warps diverged or not.
    barrier_red_popc() -> u32 = "barrier.red" "barrier.red";
    /// `barrier.red.and.pred p, id, vote;` PTX 6.0. Whether all threads voted `true`, warps diverged or not.
    barrier_red_and() -> bool = "barrier.red.and" "barrier.red";
    /// `barrier.red.or.pred p, id, vote;` PTX 6.0. Whether some thread voted `true`, warps diverged or not.
    barrier_red_or() -> bool = "barrier.red.or" "barrier.red";
    /// `barrier.red.popc.u32 d, id, threads, vote;` PTX 6.0. As [`barrier_red_popc`], for `threads` threads.
    barrier_red_popc_count(threads) -> u32 = "barrier.red" "barrier.red";
    /// `barrier.red.and.pred p, id, threads, vote;` PTX 6.0. As [`barrier_red_and`], for `threads` threads.
    barrier_red_and_count(threads) -> bool = "barrier.red.and" "barrier.red";
    /// `barrier.red.or.pred p, id, threads, vote;` PTX 6.0. As [`barrier_red_or`], for `threads` threads.
    barrier_red_or_count(threads) -> bool = "barrier.red.or" "barrier.red";
}

/// `bar.warp.sync mask;` PTX 6.0, sm_30. The lanes in `mask` wait for each other.
///
/// ISA: *bar.warp.sync*. Can break F1.
///
/// # Safety
/// 1. Exactly the lanes in `mask` that have not exited execute it, with the same `mask`, and the
///    executing lane is one of them.
#[inline(always)]
pub unsafe fn bar_warp_sync(mask: u32) {
    device! {
        super::anchor();
        asm!("//@baton collective bar.warp.sync", "bar.warp.sync {};", in(reg32) mask, options(nostack))
    }
}

macro_rules! cluster_barrier {
    ($($(#[$doc:meta])* $arrive:ident, $(#[$wait_doc:meta])* $wait:ident = $aligned:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. Every thread of the cluster that has not exited arrives once, then waits once, in turn.
        #[inline(always)]
        pub unsafe fn $arrive<M: ArriveSem>() {
            device! {
                super::anchor();
                macro_rules! emit {
                    ($sem:literal) => {
                        asm!(
                            "//@baton collective barrier.cluster.arrive",
                            concat!("barrier.cluster.arrive", $sem, $aligned, ";"),
                            options(nostack)
                        )
                    };
                }
                select!(emit [] store_sem M)
            }
        }

        $(#[$wait_doc])*
        ///
        /// # Safety
        /// 1. This thread has arrived and not waited since.
        #[inline(always)]
        pub unsafe fn $wait() {
            device! {
                super::anchor();
                asm!(
                    "//@baton collective barrier.cluster.wait",
                    concat!("barrier.cluster.wait.acquire", $aligned, ";"),
                    options(nostack)
                )
            }
        }
    )*};
}

cluster_barrier! {
    /// `barrier.cluster.arrive.sem.aligned;` with `.sem` = `.release`, `.relaxed`. PTX 8.0, sm_90.
    ///
    /// ISA: *barrier.cluster*. Can break F1, F2, F4, A4 (relaxed). As `.aligned`: each warp as a whole.
    barrier_cluster_arrive_aligned,
    /// `barrier.cluster.wait.acquire.aligned;` PTX 8.0, sm_90.
    ///
    /// ISA: *barrier.cluster*. Can break F1, F2, F4. As `.aligned`: each warp as a whole.
    barrier_cluster_wait_aligned = ".aligned";

    /// `barrier.cluster.arrive.sem;` with `.sem` = `.release`, `.relaxed`. PTX 8.0, sm_90.
    ///
    /// ISA: *barrier.cluster*. Can break F2, A4 (relaxed).
    barrier_cluster_arrive,
    /// `barrier.cluster.wait.acquire;` PTX 8.0, sm_90.
    ///
    /// ISA: *barrier.cluster*. Can break F2.
    barrier_cluster_wait = "";
}
