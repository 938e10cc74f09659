//! Taking over the work of clusters that have not started.
//!
//! A running cluster asks to cancel the launch of another one and does that one's work itself. The answer,
//! 16 bytes, arrives asynchronously in shared memory and completes them on an mbarrier.
//!
//! ISA: *clusterlaunchcontrol.try_cancel, clusterlaunchcontrol.query_cancel*.

use super::addr::{Addr, SharedCta};

/// The answer to a request: 16 bytes read from shared memory after the phase of its barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The lower 8 bytes.
    pub low: u64,
    /// The upper 8 bytes.
    pub high: u64,
}

/// `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [dst], [bar];` PTX
/// 8.6, sm_100.
///
/// ISA: *clusterlaunchcontrol.try_cancel*. Can break B2, B6, C8.
///
/// # Safety
/// 1. `dst` is aligned to 16 bytes, in shared memory of this CTA; earlier ordinary accesses to these 16
///    bytes are fenced (`fence.proxy.async`), and nobody accesses them until the phase was observed.
/// 2. A live mbarrier is at `bar`, visible to the async proxy; its current phase expects 16 bytes.
/// 3. No earlier request of this cluster was observed to have failed.
#[inline(always)]
pub unsafe fn try_cancel(dst: Addr<SharedCta>, bar: Addr<SharedCta>) {
    device! {
        asm!(
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [{}], [{}];",
            in(reg32) dst.raw(), in(reg32) bar.raw(), options(nostack)
        )
    }
}

/// `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all
/// .b128 [dst], [bar];` PTX 8.6, sm_100.
///
/// As [`try_cancel`]; the answer lands, and completes, at the offsets of `dst` and `bar` in every CTA of the
/// cluster.
///
/// ISA: *clusterlaunchcontrol.try_cancel*. Can break B2, B6, C8, F3.
///
/// # Safety
/// 1. As for [`try_cancel`], in each of the CTAs; one thread of the cluster executes it.
#[inline(always)]
pub unsafe fn try_cancel_multicast(dst: Addr<SharedCta>, bar: Addr<SharedCta>) {
    device! {
        asm!(
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [{}], [{}];",
            in(reg32) dst.raw(), in(reg32) bar.raw(), options(nostack)
        )
    }
}

/// `clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response;` PTX 8.6, sm_100.
///
/// Whether a cluster was cancelled for this one.
///
/// ISA: *clusterlaunchcontrol.query_cancel*.
#[inline(always)]
pub fn is_canceled(response: Response) -> bool {
    device! {
        let canceled: u32;
        asm!(
            "{{",
            ".reg .b128 response;",
            ".reg .pred canceled;",
            "mov.b128 response, {{{}, {}}};",
            "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, response;",
            "selp.u32 {}, 1, 0, canceled;",
            "}}",
            in(reg64) response.low, in(reg64) response.high, out(reg32) canceled,
            options(pure, nomem, nostack)
        );
        canceled != 0
    }
}

/// `clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x, y, z, _}, response;` PTX 8.6, sm_100.
///
/// The index of the first CTA of the cluster that was cancelled.
///
/// ISA: *clusterlaunchcontrol.query_cancel*.
///
/// # Safety
/// 1. [`is_canceled`] said `true` of this response.
#[inline(always)]
pub unsafe fn get_first_ctaid(response: Response) -> [u32; 3] {
    device! {
        let (x, y, z): (u32, u32, u32);
        asm!(
            "{{",
            ".reg .b128 response;",
            "mov.b128 response, {{{}, {}}};",
            "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{{}, {}, {}, _}}, response;",
            "}}",
            in(reg64) response.low, in(reg64) response.high, out(reg32) x, out(reg32) y, out(reg32) z,
            options(pure, nomem, nostack)
        );
        [x, y, z]
    }
}
