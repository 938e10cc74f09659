//! Bulk copies of plain bytes, and the groups that complete them.
//!
//! A bulk copy is asynchronous and goes through the async proxy. How its completion is observed
//! depends on where it goes: into shared memory it completes bytes on an mbarrier, out of shared memory
//! it belongs to a bulk group of the *issuing thread*. Nothing about its destination holds before that
//! was observed, and its source must stay as it is until then.
//!
//! ISA: *cp.async.bulk*, *cp.async.bulk.commit_group*, *cp.async.bulk.wait_group*; memory model 8.6.
//! Left out: cache hints, byte masks, `cp.reduce.async.bulk`, prefetch.

use super::addr::{Addr, Global, Shared, SharedCluster, SharedCta};

/// `cp.async.bulk.space.global.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];`
/// `.shared::cluster`: PTX 8.0, sm_90; `.shared::cta`: PTX 8.6, sm_90.
///
/// With `Sp = SharedCluster` the barrier is in the CTA that `dst` is in.
///
/// ISA: *cp.async.bulk*. Can break B1, B2, B6, B9, C8.
///
/// # Safety
/// 1. `bytes` is a positive multiple of 16; `dst` and `src` are aligned to 16 bytes, and that many bytes
///    are there.
/// 2. The source is not written until the copy has completed.
/// 3. Nobody else accesses the destination until the phase of `bar` that these bytes complete has been
///    observed, and earlier ordinary accesses to it came before by synchronisation and a proxy fence.
/// 4. A live mbarrier is at `bar`, visible to the async proxy; its current phase expects these bytes.
/// 5. The CTA that `dst` is in does not exit before completion.
#[inline(always)]
pub unsafe fn cp_async_bulk_to_shared<Sp: Shared>(
    dst: Addr<Sp>,
    src: Addr<Global>,
    bytes: u32,
    bar: Addr<Sp>,
) {
    device! {
        macro_rules! emit {
            ($space:literal) => {
                asm!(
                    concat!("cp.async.bulk", $space, ".global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];"),
                    in(reg32) dst.widened() as u32, in(reg64) src.raw(), in(reg32) bytes,
                    in(reg32) bar.widened() as u32, options(nostack)
                )
            };
        }
        select!(emit [] shared Sp)
    }
}

/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [dst], [src],
/// bytes, [bar], mask;` PTX 8.0, sm_90 (fast on sm_90a, sm_100a).
///
/// The bytes land, and complete, at the offsets of `dst` and `bar` in every CTA whose rank is in `mask`.
///
/// ISA: *cp.async.bulk*. Can break B1, B2, B6, B9, C8.
///
/// # Safety
/// 1. As for [`cp_async_bulk_to_shared`], in each of the CTAs.
#[inline(always)]
pub unsafe fn cp_async_bulk_multicast(
    dst: Addr<SharedCluster>,
    src: Addr<Global>,
    bytes: u32,
    bar: Addr<SharedCluster>,
    mask: u16,
) {
    device! {
        asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{}], [{}], {}, [{}], {};",
            in(reg32) dst.raw(), in(reg64) src.raw(), in(reg32) bytes, in(reg32) bar.raw(),
            in(reg16) mask, options(nostack)
        )
    }
}

/// `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst], [src], bytes, [bar];`
/// PTX 8.0, sm_90.
///
/// From this CTA's shared memory to a peer's; `bar` is the peer's.
///
/// ISA: *cp.async.bulk*. Can break B1, B2, B6, B9, C8, F3.
///
/// # Safety
/// 1. As for [`cp_async_bulk_to_shared`].
/// 2. The source was last written through the async proxy, or a `fence.proxy.async` followed.
/// 3. Neither CTA exits before completion.
#[inline(always)]
pub unsafe fn cp_async_bulk_to_cluster(
    dst: Addr<SharedCluster>,
    src: Addr<SharedCta>,
    bytes: u32,
    bar: Addr<SharedCluster>,
) {
    device! {
        asm!(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
            in(reg32) dst.raw(), in(reg32) src.raw(), in(reg32) bytes, in(reg32) bar.raw(),
            options(nostack)
        )
    }
}

/// `cp.async.bulk.global.shared::cta.bulk_group [dst], [src], bytes;` PTX 8.0, sm_90.
///
/// ISA: *cp.async.bulk*. Can break B1, B7, B9, B10, B11.
///
/// # Safety
/// 1. `bytes` is a positive multiple of 16; `dst` and `src` are aligned to 16 bytes, and that many bytes
///    are there.
/// 2. The source was last written through the async proxy, or each writer executed `fence.proxy.async`
///    before the synchronisation that leads here.
/// 3. The source is not written before [`wait_group_read`] of this thread covers the copy, and nobody
///    reads the destination before [`wait_group`] of this thread and synchronisation.
/// 4. The CTA does not exit before the former.
#[inline(always)]
pub unsafe fn cp_async_bulk_to_global(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32) {
    device! {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group [{}], [{}], {};",
            in(reg64) dst.raw(), in(reg32) src.raw(), in(reg32) bytes, options(nostack)
        )
    }
}

/// `cp.async.bulk.commit_group;` PTX 8.0, sm_90.
///
/// Makes one group of this thread's bulk copies that belong to none yet.
///
/// ISA: *cp.async.bulk.commit_group*. Can break B10.
#[inline(always)]
pub fn commit_group() {
    device! { asm!("cp.async.bulk.commit_group;", options(nostack)) }
}

/// `cp.async.bulk.wait_group n;` PTX 8.0, sm_90.
///
/// Waits until at most the `PENDING` newest groups of this thread are incomplete: the writes of the
/// others are visible to this thread.
///
/// ISA: *cp.async.bulk.wait_group*. Can break B7, B9, B10.
#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    device! { asm!("cp.async.bulk.wait_group {};", const PENDING, options(nostack)) }
}

/// `cp.async.bulk.wait_group.read n;` PTX 8.0, sm_90.
///
/// Waits until all but at most the `PENDING` newest groups of this thread have read their sources,
/// which may then be written. Their destinations are not complete.
///
/// ISA: *cp.async.bulk.wait_group*. Can break B7, B9, B10, B11.
#[inline(always)]
pub fn wait_group_read<const PENDING: u32>() {
    device! { asm!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack)) }
}
