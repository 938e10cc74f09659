//! Copies of a few bytes into shared memory, asynchronous and in the generic proxy.
//!
//! A `cp.async` copies 4, 8 or 16 bytes from global memory. What it wrote is visible to the thread that
//! issued it once [`wait_group`] or [`wait_all`] covers it, and to others only behind a barrier after that
//! (B8); or an mbarrier is told by [`mbarrier_arrive`].
//!
//! ISA: *cp.async*, *cp.async.commit_group*, *cp.async.wait_group*, *cp.async.mbarrier.arrive*.

use super::addr::{Addr, Global, SharedCta};
use super::policy::Policy;

/// The number of bytes that one `cp.async` copies, as a value for the choice of the text.
macro_rules! copies {
    ($($(#[$doc:meta])* $name:ident$(<$bytes:ident>)?($($arg:ident: $ty:ty = $class:ident $value:expr),*) = $head:literal $tail:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *cp.async*. Can break B6, B8.
        ///
        /// # Safety
        /// 1. `dst` and `src` are aligned to the number of bytes, and that many bytes are there.
        /// 2. The source is not written until completion was observed.
        /// 3. Nobody else accesses the destination until completion was observed and made visible to it.
        #[inline(always)]
        pub unsafe fn $name$(<const $bytes: u32>)?(dst: Addr<SharedCta>, src: Addr<Global> $(, $arg: $ty)*) {
            device! {
                asm!(
                    concat!($head, " [{dst}], [{src}], ", $tail, ";"),
                    dst = in(reg32) dst.raw(), src = in(reg64) src.raw(),
                    $($bytes = const $bytes,)? $($arg = in($class) $value,)*
                    options(nostack)
                )
            }
        }
    )*};
}

copies! {
    /// `cp.async.ca.shared::cta.global [dst], [src], BYTES;` PTX 7.0, sm_80.
    ///
    /// `BYTES` is 4, 8 or 16; the copy goes through all caches.
    cp_async_ca<BYTES>() = "cp.async.ca.shared::cta.global" "{BYTES}";
    /// `cp.async.ca.shared::cta.global [dst], [src], BYTES, bytes;` PTX 7.0, sm_80.
    ///
    /// Copies only the first `bytes` and fills the rest with zeros.
    cp_async_ca_fill<BYTES>(bytes: u32 = reg32 bytes) = "cp.async.ca.shared::cta.global" "{BYTES}, {bytes}";
    /// `cp.async.ca.shared::cta.global.L2::cache_hint [dst], [src], BYTES, policy;` PTX 7.4, sm_80.
    cp_async_ca_hint<BYTES>(policy: Policy = reg64 policy.raw())
        = "cp.async.ca.shared::cta.global.L2::cache_hint" "{BYTES}, {policy}";
    /// `cp.async.cg.shared::cta.global [dst], [src], 16;` PTX 7.0, sm_80.
    ///
    /// The copy goes past the L1 cache.
    cp_async_cg() = "cp.async.cg.shared::cta.global" "16";
    /// `cp.async.cg.shared::cta.global [dst], [src], 16, bytes;` PTX 7.0, sm_80.
    ///
    /// Copies only the first `bytes` and fills the rest with zeros.
    cp_async_cg_fill(bytes: u32 = reg32 bytes) = "cp.async.cg.shared::cta.global" "16, {bytes}";
    /// `cp.async.cg.shared::cta.global.L2::cache_hint [dst], [src], 16, policy;` PTX 7.4, sm_80.
    cp_async_cg_hint(policy: Policy = reg64 policy.raw())
        = "cp.async.cg.shared::cta.global.L2::cache_hint" "16, {policy}";
}

/// `cp.async.commit_group;` PTX 7.0, sm_80.
///
/// Makes one group of this thread's copies that belong to none yet.
///
/// ISA: *cp.async.commit_group*. Can break B8.
#[inline(always)]
pub fn commit_group() {
    device! { asm!("cp.async.commit_group;", options(nostack)) }
}

/// `cp.async.wait_group n;` PTX 7.0, sm_80.
///
/// Waits until at most the `PENDING` newest groups of this thread are incomplete; the copies of the others
/// are visible to this thread, and to no other yet.
///
/// ISA: *cp.async.wait_group*. Can break B8.
#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    device! { asm!("cp.async.wait_group {};", const PENDING, options(nostack)) }
}

/// `cp.async.wait_all;` PTX 7.0, sm_80.
///
/// Commits what is left and waits for all groups of this thread.
///
/// ISA: *cp.async.wait_all*. Can break B8.
#[inline(always)]
pub fn wait_all() {
    device! { asm!("cp.async.wait_all;", options(nostack)) }
}

/// `cp.async.mbarrier.arrive.shared::cta.b64 [bar];` PTX 7.0, sm_80.
///
/// Arrives on `bar` when all earlier copies of this thread have completed. The pending count is raised by
/// one first, so that the phase's count is as it was.
///
/// ISA: *cp.async.mbarrier.arrive*. Can break B8, C1, C9.
///
/// # Safety
/// 1. A live mbarrier is at `bar`, its initialisation visible to this thread; its current phase is the one
///    meant.
#[inline(always)]
pub unsafe fn mbarrier_arrive(bar: Addr<SharedCta>) {
    device! { asm!("cp.async.mbarrier.arrive.shared::cta.b64 [{}];", in(reg32) bar.raw(), options(nostack)) }
}

/// `cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];` PTX 7.0, sm_80.
///
/// As [`mbarrier_arrive`], but the count given at `init` has to include this arrival.
///
/// ISA: *cp.async.mbarrier.arrive*. Can break B8, C1, C9.
///
/// # Safety
/// 1. As for [`mbarrier_arrive`].
/// 2. The phase's expected count includes this arrival.
#[inline(always)]
pub unsafe fn mbarrier_arrive_noinc(bar: Addr<SharedCta>) {
    device! {
        asm!("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{}];", in(reg32) bar.raw(), options(nostack))
    }
}
