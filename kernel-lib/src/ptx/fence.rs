//! Fences.
//!
//! A *thread fence* orders this thread's memory operations on both sides of it, towards threads in
//! its scope. A *proxy fence* orders accesses to the same memory through different paths (the generic
//! loads and stores, the async proxy of bulk copies and tensor cores, a second virtual alias, tensor
//! maps): without it, synchronisation alone does not connect the two.
//!
//! A fence touches no location, so these functions are safe. Leaving one out is what is wrong.
//!
//! ISA: *membar/fence*; memory model 8.6, 8.8, 8.9.5.

use super::addr::{Addr, Generic, Memory};
use crate::scope::Scope;
use crate::sem::FenceSem;

/// `fence.sem.scope;` with `.sem` = `.sc`, `.acq_rel`, `.acquire`, `.release`. PTX 6.0, sm_70; `.acquire`
/// and `.release`: PTX 8.6, sm_90.
///
/// ISA: *membar/fence*, 8.8. Can break A5 and A8 (`AcqRel` where `Sc` is needed).
#[inline(always)]
pub fn fence<M: FenceSem, S: Scope>() {
    device! {
        macro_rules! emit {
            ($sem:literal $scope:literal) => {
                asm!(concat!("fence", $sem, $scope, ";"), options(nostack))
            };
        }
        select!(emit [] fence_sem M, scope S)
    }
}

macro_rules! one_way_fences {
    ($($(#[$doc:meta])* $name:ident = $order:literal;)*) => {$(
        $(#[$doc])*
        // Used where there is the instruction.
        #[allow(clippy::extra_unused_type_parameters)]
        #[inline(always)]
        pub(crate) fn $name<S: Scope>() {
            device! {
                macro_rules! emit {
                    ($scope:literal) => {
                        asm!(
                            concat!("//@baton fence ", $order),
                            concat!("fence.acq_rel", $scope, ";"),
                            options(nostack)
                        )
                    };
                }
                select!(emit [] scope S)
            }
        }
    )*};
}

one_way_fences! {
    /// `fence.acquire.scope;` PTX 8.6, on targets from sm_90 on; `fence.acq_rel.scope;` on those before. The kernel does not
    /// know its target: the builder makes the one of the other.
    fence_acquire = "acquire";

    /// `fence.release.scope;` or `fence.acq_rel.scope;`, as [`fence_acquire`].
    fence_release = "release";
}

macro_rules! plain_fences {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() {
            device! { asm!($text, options(nostack)) }
        }
    )*};
}

plain_fences! {
    /// `fence.mbarrier_init.release.cluster;` PTX 8.0, sm_90.
    ///
    /// Makes this thread's earlier `mbarrier.init` (and nothing else) visible to the async proxy and to
    /// the cluster, once a barrier follows.
    ///
    /// ISA: *membar/fence*. Can break C1 by its absence.
    fence_mbarrier_init_release_cluster = "fence.mbarrier_init.release.cluster;";

    /// `fence.acquire.sync_restrict::shared::cluster.cluster;` PTX 8.6, sm_90.
    ///
    /// Acquires for objects in `.shared::cluster` only. Behind a relaxed wait of `.cluster` scope it is the end of an acquire
    /// pattern: what peers released before they arrived, or copies wrote before they completed, may be read by ordinary
    /// loads of this thread. Readers of the async proxy need
    /// [`fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster`] besides. ptxas makes no instruction of it.
    ///
    /// ISA: *membar/fence*, 8.8. Can break A3, C6 by its absence.
    fence_acquire_sync_restrict_shared_cluster_cluster =
        "fence.acquire.sync_restrict::shared::cluster.cluster;";

    /// `fence.release.sync_restrict::shared::cta.cluster;` PTX 8.6, sm_90.
    ///
    /// Releases for objects in the own CTA's shared memory only. Before a relaxed arrival of `.cluster` scope it is the
    /// beginning of a release pattern, cumulative over what this thread has observed. It does not cover stores into a
    /// peer's shared memory, nor reads of it, nor global memory: those are rule F9.
    ///
    /// ISA: *membar/fence*, 8.8. Can break A4, C7, F9.
    fence_release_sync_restrict_shared_cta_cluster =
        "fence.release.sync_restrict::shared::cta.cluster;";

    /// `fence.proxy.async;` PTX 8.0, sm_90.
    ///
    /// Between generic and async-proxy accesses of this thread, in every space and both ways.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B1, B2 by its absence.
    fence_proxy_async = "fence.proxy.async;";

    /// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;` PTX 8.6, sm_90.
    ///
    /// The acquiring half of a one-way fence: accesses of the async proxy to `.shared::cluster` that this thread begins later come
    /// behind what was released through the generic proxy. Its other half is one of the two below, or an operation of
    /// the async proxy that has ended. It stands behind a relaxed wait of `.cluster` scope. Ordinary accesses need
    /// [`fence_acquire_sync_restrict_shared_cluster_cluster`]. ptxas makes no instruction of it.
    ///
    /// ISA: *membar/fence*, 8.6, 8.8. Can break B1, B2 by its absence.
    fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster =
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;";

    /// `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;` PTX 8.6, sm_90.
    ///
    /// The releasing half of a one-way fence: what this thread did through the generic proxy to the own CTA's shared memory, and
    /// what it had observed of others, comes before accesses of the async proxy in the CTA that executes the acquiring half. It stands
    /// before a relaxed arrival of `.cluster` scope, and orders nothing for ordinary accesses.
    ///
    /// ISA: *membar/fence*, 8.6, 8.8. Can break B1, B2 by its absence, F9.
    fence_proxy_async_generic_release_sync_restrict_shared_cta_cluster =
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;";

    /// `fence.proxy.alias;` PTX 7.5, sm_70.
    ///
    /// Between accesses to one location through two virtual addresses.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_alias = "fence.proxy.alias;";

    /// `fence.proxy.alias.acquire.sys;` PTX 9.4, sm_90.
    ///
    /// [`fence_proxy_alias`], one way only: later accesses here come after what another thread released
    /// through another alias.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_alias_acquire_sys = "fence.proxy.alias.acquire.sys;";

    /// `fence.proxy.alias.release.sys;` PTX 9.4, sm_90.
    ///
    /// The other way.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_alias_release_sys = "fence.proxy.alias.release.sys;";

    /// `fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;` PTX 9.4, sm_90.
    ///
    /// [`fence_proxy_async_generic_release_sync_restrict_shared_cta_cluster`] for this thread's own reads of shared memory only, a
    /// peer's too. It is not cumulative: accesses of others that this thread observed are not ordered by it, so that a thread
    /// which arrives for others cannot use it alone. ptxas makes no instruction of it.
    ///
    /// ISA: *membar/fence*, 8.6, 8.8. Can break B2 by its absence, F9.
    fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cluster =
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;";

    /// `fence.proxy.generic::fabric.alias.acquire.sys;` PTX 9.3, sm_100.
    ///
    /// After a hand-over of memory that one side reaches through the fabric proxy.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_generic_fabric_alias_acquire_sys = "fence.proxy.generic::fabric.alias.acquire.sys;";

    /// `fence.proxy.generic::fabric.alias.release.sys;` PTX 9.3, sm_100.
    ///
    /// Before a hand-over of memory that one side reaches through the fabric proxy.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_generic_fabric_alias_release_sys = "fence.proxy.generic::fabric.alias.release.sys;";

    /// `fence.proxy.fabric::generic.alias.acquire.sys;` PTX 9.3, sm_100.
    ///
    /// After a hand-over of memory that one side reaches through the fabric proxy.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_fabric_generic_alias_acquire_sys = "fence.proxy.fabric::generic.alias.acquire.sys;";

    /// `fence.proxy.fabric::generic.alias.release.sys;` PTX 9.3, sm_100.
    ///
    /// Before a hand-over of memory that one side reaches through the fabric proxy.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_fabric_generic_alias_release_sys = "fence.proxy.fabric::generic.alias.release.sys;";

    /// `fence.proxy.fabric::fabric.alias.acquire.sys;` PTX 9.3, sm_100.
    ///
    /// After a hand-over of memory that one side reaches through the fabric proxy.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_fabric_fabric_alias_acquire_sys = "fence.proxy.fabric::fabric.alias.acquire.sys;";

    /// `fence.proxy.fabric::fabric.alias.release.sys;` PTX 9.3, sm_100.
    ///
    /// Before a hand-over of memory that one side reaches through the fabric proxy.
    ///
    /// ISA: *membar/fence*, 8.6. Can break B3 by its absence.
    fence_proxy_fabric_fabric_alias_release_sys = "fence.proxy.fabric::fabric.alias.release.sys;";
}

/// `fence.proxy.async.space;` with `.space` = `.global`, `.shared::cta`, `.shared::cluster`. PTX 8.0,
/// sm_90.
///
/// [`fence_proxy_async`], for objects in one space only. `.shared::cta` is this CTA's shared memory, and not a peer's.
///
/// ISA: *membar/fence*, 8.6. Can break B1, B2 (a space that is not that of the data).
#[inline(always)]
pub fn fence_proxy_async_in<Sp: Memory>() {
    device! {
        macro_rules! emit {
            (($space:literal $class:ident $ty:ident)) => {
                asm!(concat!("fence.proxy.async", $space, ";"), options(nostack))
            };
        }
        select!(emit [] memory Sp)
    }
}

/// `fence.proxy.tensormap::generic.release.scope;` PTX 8.3, sm_90.
///
/// After a tensor map was modified in memory by generic stores.
///
/// ISA: *membar/fence*, 8.6. Can break B4 by its absence.
#[inline(always)]
pub fn fence_proxy_tensormap_generic_release<S: Scope>() {
    device! {
        macro_rules! emit {
            ($scope:literal) => {
                asm!(concat!("fence.proxy.tensormap::generic.release", $scope, ";"), options(nostack))
            };
        }
        select!(emit [] scope S)
    }
}

/// `fence.proxy.tensormap::generic.acquire.scope [map], 128;` PTX 8.3, sm_90.
///
/// Before a tensor map that somebody modified in memory is used by a copy.
///
/// ISA: *membar/fence*, 8.6. Can break B4 by its absence.
///
/// # Safety
/// 1. `map` is the generic address of a tensor map of 128 bytes in global memory.
#[inline(always)]
pub unsafe fn fence_proxy_tensormap_generic_acquire<S: Scope>(map: Addr<Generic>) {
    device! {
        macro_rules! emit {
            ($scope:literal) => {
                asm!(
                    concat!("fence.proxy.tensormap::generic.acquire", $scope, " [{}], 128;"),
                    in(reg64) map.raw(), options(nostack)
                )
            };
        }
        select!(emit [] scope S)
    }
}
