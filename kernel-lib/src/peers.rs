//! Between the CTAs of a cluster, through shared memory: what stands beside a relaxed arrival and a relaxed wait on an mbarrier.
//!
//! An arrival that releases at the scope of the cluster, and a wait that acquires there, speak of all memory: the machine makes a fence of
//! the whole GPU of the one, and of the other an L1 that forgets what it holds. Where shared memory alone is handed over, the text has
//! fences that speak of it alone (ISA 8.8, 9.7.13.4), most of which are no instruction at all:
//!
//! | what the peer gets | before the arrival | behind the wait |
//! |---|---|---|
//! | what copies of this CTA, or `st.async`, wrote into its memory | nothing: their completion releases | [`wait`] |
//! | a stage that `tcgen05.mma` has read | nothing: the commit is the arrival | [`wait`] |
//! | the same, for ordinary loads alone | the same | [`wait_to_read`] |
//! | a stage of this CTA that threads have read, for copies | [`release_reads_to_copies`] by the one that arrives for its set | [`wait`] |
//! | a stage of this CTA that `wgmma` has read, or that anyone may write | the same, and [`release_own`] | [`wait`] |
//! | tensor memory | `tcgen05.fence::before_thread_sync` | a relaxed wait, `tcgen05.fence::after_thread_sync` |
//!
//! The two releases cover this CTA's own shared memory. What was written into a peer's by ordinary stores, or read there, they do not
//! pass on, nor anything in global memory (rule F9). Fences between paths are among these (I17).

use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::scope::Cluster;
use crate::sem::Relaxed;

/// Waits until a phase has completed to which peers contribute, and acquires what they handed over in shared memory, for this thread and
/// for what it begins through the async proxy.
///
/// # PTX
/// A loop over `mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64`, `fence.acquire.sync_restrict::shared::cluster.cluster`,
/// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`. PTX 8.6, sm_90.
///
/// # Safety
/// 1. `barrier` is an initialised mbarrier of this CTA.
#[inline(always)]
pub(crate) unsafe fn wait(barrier: Addr<SharedCta>, phase: u32) {
    // SAFETY: the caller's promise. For what is begun through the async proxy the fence behind it stands (I17).
    unsafe { wait_to_read(barrier, phase) };
    ptx::fence::fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster();
}

/// As [`wait`], for ordinary accesses of this thread alone.
///
/// # Safety
/// 1. As for [`wait`].
#[inline(always)]
pub(crate) unsafe fn wait_to_read(barrier: Addr<SharedCta>, phase: u32) {
    // SAFETY: the caller's promise.
    unsafe { wait_to_end(barrier, phase) };
    ptx::fence::fence_acquire_sync_restrict_shared_cluster_cluster();
}

/// As [`wait`], where nothing is accessed behind it.
///
/// # Safety
/// 1. As for [`wait`].
#[inline(always)]
pub(crate) unsafe fn wait_to_end(barrier: Addr<SharedCta>, phase: u32) {
    // SAFETY: the caller's promise.
    unsafe { ptx::mbarrier::wait_parity::<Relaxed, Cluster>(barrier, phase) }
}

/// As [`wait`], asks once.
///
/// # Safety
/// 1. As for [`wait`].
#[inline(always)]
pub(crate) unsafe fn try_wait(barrier: Addr<SharedCta>, phase: u32) -> bool {
    // SAFETY: the caller's promise.
    let complete = unsafe { ptx::mbarrier::try_wait_parity::<Relaxed, Cluster>(barrier, phase) };
    // Behind an answer of no they say nothing, and they cost nothing.
    ptx::fence::fence_acquire_sync_restrict_shared_cluster_cluster();
    ptx::fence::fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster();
    complete
}

/// Before relaxed arrivals: what this thread has read of its CTA's shared memory, and what it knows that others of the CTA have, comes
/// before copies that whoever waits begins.
#[inline(always)]
pub(crate) fn release_reads_to_copies() {
    ptx::fence::fence_proxy_async_generic_release_sync_restrict_shared_cta_cluster();
}

/// Before relaxed arrivals: what this thread has done with its CTA's shared memory, and what it knows that others of the CTA have, comes
/// before what whoever waits does there.
#[inline(always)]
pub(crate) fn release_own() {
    ptx::fence::fence_release_sync_restrict_shared_cta_cluster();
}
