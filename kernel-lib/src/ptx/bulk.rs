//! Bulk copies of plain bytes, and the groups that complete them.
//!
//! A bulk copy is asynchronous and goes through the async proxy. How its completion is observed
//! depends on where it goes: into shared memory it completes bytes on an mbarrier, out of shared memory
//! it belongs to a bulk group of the *issuing thread*. Nothing about its destination holds before that
//! was observed, and its source must stay as it is until then.
//!
//! ISA: *cp.async.bulk*, *cp.async.bulk.commit_group*, *cp.async.bulk.wait_group*; memory model 8.6.
//! *cp.reduce.async.bulk*, *cp.async.bulk.prefetch*. What goes to a peer's shared memory has no cache hint in PTX.

use super::addr::{Addr, Global, Shared, SharedCluster, SharedCta};
use super::atom::{Bitwise, Number};
use super::policy::{Hint, NoHint, Policy};
use super::word::Word;
use crate::float::{bf16, f16};

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

/// `cp.async.bulk.space.global.mbarrier::complete_tx::bytes.L2::cache_hint [dst], [src], bytes, [bar],
/// policy;` `.shared::cluster`: PTX 8.0, sm_90; `.shared::cta`: PTX 8.6, sm_90.
///
/// [`cp_async_bulk_to_shared`] with a cache policy.
///
/// ISA: *cp.async.bulk*. Can break B1, B2, B6, B9, C8.
///
/// # Safety
/// 1. As for [`cp_async_bulk_to_shared`].
#[inline(always)]
pub unsafe fn cp_async_bulk_to_shared_hint<Sp: Shared>(
    dst: Addr<Sp>,
    src: Addr<Global>,
    bytes: u32,
    bar: Addr<Sp>,
    policy: Policy,
) {
    device! {
        macro_rules! emit {
            ($space:literal) => {
                asm!(
                    concat!(
                        "cp.async.bulk", $space,
                        ".global.mbarrier::complete_tx::bytes.L2::cache_hint [{}], [{}], {}, [{}], {};"
                    ),
                    in(reg32) dst.widened() as u32, in(reg64) src.raw(), in(reg32) bytes,
                    in(reg32) bar.widened() as u32, in(reg64) policy.raw(), options(nostack)
                )
            };
        }
        select!(emit [] shared Sp)
    }
}

/// `cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [dst], [src], bytes, policy;` PTX 8.0, sm_90.
///
/// [`cp_async_bulk_to_global`] with a cache policy.
///
/// ISA: *cp.async.bulk*. Can break B1, B7, B9, B10, B11.
///
/// # Safety
/// 1. As for [`cp_async_bulk_to_global`].
#[inline(always)]
pub unsafe fn cp_async_bulk_to_global_hint(
    dst: Addr<Global>,
    src: Addr<SharedCta>,
    bytes: u32,
    policy: Policy,
) {
    device! {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [{}], [{}], {}, {};",
            in(reg64) dst.raw(), in(reg32) src.raw(), in(reg32) bytes, in(reg64) policy.raw(),
            options(nostack)
        )
    }
}

/// `cp.async.bulk.global.shared::cta.bulk_group.cp_mask [dst], [src], bytes, mask;` PTX 8.6, sm_100.
///
/// Of every 16 bytes only those whose bit in `mask` is set are copied.
///
/// ISA: *cp.async.bulk*. Can break B1, B7, B9, B10, B11.
///
/// # Safety
/// 1. As for [`cp_async_bulk_to_global`].
#[inline(always)]
pub unsafe fn cp_async_bulk_to_global_masked(
    dst: Addr<Global>,
    src: Addr<SharedCta>,
    bytes: u32,
    mask: u16,
) {
    device! {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [{}], [{}], {}, {};",
            in(reg64) dst.raw(), in(reg32) src.raw(), in(reg32) bytes, in(reg16) mask,
            options(nostack)
        )
    }
}

/// `cp.async.bulk.prefetch.L2.global [src], bytes;` PTX 8.0, sm_90.
///
/// ISA: *cp.async.bulk.prefetch*.
///
/// # Safety
/// 1. `bytes` is a positive multiple of 16; `src` is aligned to 16 bytes, and that many bytes are there.
#[inline(always)]
pub unsafe fn cp_async_bulk_prefetch(src: Addr<Global>, bytes: u32) {
    device! {
        asm!(
            "cp.async.bulk.prefetch.L2.global [{}], {};",
            in(reg64) src.raw(), in(reg32) bytes, options(nostack)
        )
    }
}

/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [dst],
/// [src], bytes, [bar], mask, policy;` PTX 8.0, sm_90.
///
/// [`cp_async_bulk_multicast`] with a cache policy.
///
/// ISA: *cp.async.bulk*. Can break B1, B2, B6, B9, C8.
///
/// # Safety
/// 1. As for [`cp_async_bulk_multicast`].
#[inline(always)]
pub unsafe fn cp_async_bulk_multicast_hint(
    dst: Addr<SharedCluster>,
    src: Addr<Global>,
    bytes: u32,
    bar: Addr<SharedCluster>,
    mask: u16,
    policy: Policy,
) {
    device! {
        asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [{}], [{}], {}, [{}], {}, {};",
            in(reg32) dst.raw(), in(reg64) src.raw(), in(reg32) bytes, in(reg32) bar.raw(),
            in(reg16) mask, in(reg64) policy.raw(), options(nostack)
        )
    }
}

/// `cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.L2::cache_hint [dst], [src], bytes,
/// left, right, [bar], policy;` PTX 9.2, sm_90.
///
/// The first `left` and the last `right` bytes of the source may lie outside of any object: they are not read.
///
/// ISA: *cp.async.bulk*. Can break B1, B2, B6, B9, C8.
///
/// # Safety
/// 1. As for [`cp_async_bulk_to_shared`], but for those bytes of the source.
/// 2. `left` and `right` are at most 15. What stands in their place in `dst` is not relied on.
#[inline(always)]
pub unsafe fn cp_async_bulk_to_shared_ignore_oob<H: Hint>(
    dst: Addr<SharedCta>,
    src: Addr<Global>,
    bytes: u32,
    left: u32,
    right: u32,
    bar: Addr<SharedCta>,
    hint: H,
) {
    device! {
        match const { H::HINTED } {
            false => asm!(
                "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [{}], [{}], {}, {}, {}, [{}];",
                in(reg32) dst.raw(), in(reg64) src.raw(), in(reg32) bytes, in(reg32) left, in(reg32) right,
                in(reg32) bar.raw(), options(nostack)
            ),
            true => asm!(
                "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.L2::cache_hint [{}], [{}], {}, {}, {}, [{}], {};",
                in(reg32) dst.raw(), in(reg64) src.raw(), in(reg32) bytes, in(reg32) left, in(reg32) right,
                in(reg32) bar.raw(), in(reg64) hint.bits(), options(nostack)
            ),
        }
    }
}

/// `cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [dst], [src], bytes, policy, mask;` PTX
/// 8.6, sm_100.
///
/// [`cp_async_bulk_to_global_masked`] with a cache policy.
///
/// ISA: *cp.async.bulk*. Can break B1, B7, B9, B10, B11.
///
/// # Safety
/// 1. As for [`cp_async_bulk_to_global`].
#[inline(always)]
pub unsafe fn cp_async_bulk_to_global_masked_hint(
    dst: Addr<Global>,
    src: Addr<SharedCta>,
    bytes: u32,
    mask: u16,
    policy: Policy,
) {
    device! {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [{}], [{}], {}, {}, {};",
            in(reg64) dst.raw(), in(reg32) src.raw(), in(reg32) bytes, in(reg64) policy.raw(),
            in(reg16) mask, options(nostack)
        )
    }
}

/// `cp.async.bulk.prefetch.L2.global.L2::cache_hint [src], bytes, policy;` PTX 8.0, sm_90.
///
/// [`cp_async_bulk_prefetch`] with a cache policy.
///
/// ISA: *cp.async.bulk.prefetch*.
///
/// # Safety
/// 1. As for [`cp_async_bulk_prefetch`].
#[inline(always)]
pub unsafe fn cp_async_bulk_prefetch_hint(src: Addr<Global>, bytes: u32, policy: Policy) {
    device! {
        asm!(
            "cp.async.bulk.prefetch.L2.global.L2::cache_hint [{}], {}, {};",
            in(reg64) src.raw(), in(reg32) bytes, in(reg64) policy.raw(), options(nostack)
        )
    }
}

/// A type that `cp.reduce.async.bulk` adds in global memory.
#[diagnostic::on_unimplemented(
    message = "PTX has no bulk addition of `{Self}`",
    label = "expected `u32`, `i32`, `u64`, `i64`, `f32`, `f64`, `f16` or `bf16`"
)]
pub trait BulkAdd: Word {
    #[doc(hidden)]
    const NUMBER: Number;
}

/// A type of which `cp.reduce.async.bulk` takes minima and maxima in global memory.
#[diagnostic::on_unimplemented(
    message = "PTX has no bulk minimum or maximum of `{Self}`",
    label = "expected `u32`, `i32`, `u64`, `i64`, `f16` or `bf16`"
)]
pub trait BulkMinMax: Word {
    #[doc(hidden)]
    const NUMBER: Number;
}

/// A type that `cp.reduce.async.bulk` adds in a peer's shared memory.
#[diagnostic::on_unimplemented(
    message = "PTX has no bulk addition of `{Self}` in shared memory",
    label = "expected `u32`, `i32` or `u64`"
)]
pub trait PeerAdd: BulkAdd {}

/// A type of which `cp.reduce.async.bulk` takes minima and maxima in a peer's shared memory.
#[diagnostic::on_unimplemented(
    message = "PTX has no bulk minimum or maximum of `{Self}` in shared memory",
    label = "expected `u32` or `i32`"
)]
pub trait PeerMinMax: BulkMinMax {}

macro_rules! numbers {
    ($class:ident: $($ty:ty => $number:ident),*) => {
        $(impl $class for $ty { const NUMBER: Number = Number::$number; })*
    };
}
numbers!(BulkAdd: u32 => U32, i32 => S32, u64 => U64, i64 => S64, f32 => F32, f64 => F64, f16 => F16, bf16 => Bf16);
numbers!(BulkMinMax: u32 => U32, i32 => S32, u64 => U64, i64 => S64, f16 => F16, bf16 => Bf16);
impl PeerAdd for u32 {}
impl PeerAdd for i32 {}
impl PeerAdd for u64 {}
impl PeerMinMax for u32 {}
impl PeerMinMax for i32 {}

/// One reduction into global memory, hinted or not.
#[cfg(target_arch = "nvptx64")]
macro_rules! reduce {
    ($H:ident $hint:ident $op:literal $type:literal $dst:ident $src:ident $bytes:ident) => {
        match const { $H::HINTED } {
            false => asm!(
                concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group", $op, $type, " [{}], [{}], {};"),
                in(reg64) $dst.raw(), in(reg32) $src.raw(), in(reg32) $bytes, options(nostack)
            ),
            true => asm!(
                concat!(
                    "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", $op, $type,
                    " [{}], [{}], {}, {};"
                ),
                in(reg64) $dst.raw(), in(reg32) $src.raw(), in(reg32) $bytes, in(reg64) $hint.bits(),
                options(nostack)
            ),
        }
    };
}

macro_rules! reductions {
    ($(($name:ident $($doc:literal)+) ($hinted:ident $($hint_doc:literal)+) <$class:ident> = $op:literal: $($number:ident $type:literal)*;)*) => {$(
        $(#[doc = $doc])+
        ///
        /// Each element of the source is one relaxed reduction at gpu scope.
        ///
        /// ISA: *cp.reduce.async.bulk*. Can break A7, B1, B7, B9, B10, B11.
        ///
        /// # Safety
        /// 1. As for [`cp_async_bulk_to_global`]; `dst` holds initialised elements of type `T`.
        /// 2. Until completion was observed, others access the destination by reductions only.
        #[inline(always)]
        pub unsafe fn $name<T: $class>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32) {
            // SAFETY: the obligations are those of this function.
            unsafe { $hinted::<T, NoHint>(dst, src, bytes, NoHint) }
        }

        $(#[doc = $hint_doc])+
        ///
        #[doc = concat!("[`", stringify!($name), "`] with a cache policy.")]
        ///
        /// ISA: *cp.reduce.async.bulk*. Can break A7, B1, B7, B9, B10, B11.
        ///
        /// # Safety
        #[doc = concat!("As for [`", stringify!($name), "`].")]
        #[inline(always)]
        pub unsafe fn $hinted<T: $class, H: Hint>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H) {
            device! {
                match T::NUMBER {
                    $(Number::$number => reduce!(H hint $op $type dst src bytes),)*
                    // No other type implements the trait.
                    #[allow(unreachable_patterns)]
                    _ => core::hint::unreachable_unchecked(),
                }
            }
        }
    )*};
}

reductions! {
    (cp_reduce_async_bulk_add
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.add.type [dst], [src], bytes;` PTX 8.0, sm_90.")
    (cp_reduce_async_bulk_add_hint
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.type [dst], [src], bytes, policy;` PTX 8.0, sm_90.")
    <BulkAdd> = ".add": U32 ".u32" S32 ".s32" U64 ".u64" S64 ".u64" F32 ".f32" F64 ".f64"
        F16 ".noftz.f16" Bf16 ".noftz.bf16";
    (cp_reduce_async_bulk_min
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.min.type [dst], [src], bytes;` PTX 8.0, sm_90.")
    (cp_reduce_async_bulk_min_hint
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.min.type [dst], [src], bytes, policy;` PTX 8.0, sm_90.")
    <BulkMinMax> = ".min": U32 ".u32" S32 ".s32" U64 ".u64" S64 ".s64" F16 ".f16" Bf16 ".bf16";
    (cp_reduce_async_bulk_max
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.max.type [dst], [src], bytes;` PTX 8.0, sm_90.")
    (cp_reduce_async_bulk_max_hint
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.max.type [dst], [src], bytes, policy;` PTX 8.0, sm_90.")
    <BulkMinMax> = ".max": U32 ".u32" S32 ".s32" U64 ".u64" S64 ".s64" F16 ".f16" Bf16 ".bf16";
}

macro_rules! bit_reductions {
    ($(($name:ident $($doc:literal)+) ($hinted:ident $($hint_doc:literal)+) = $op:literal;)*) => {$(
        $(#[doc = $doc])+
        ///
        /// ISA: *cp.reduce.async.bulk*. Can break A7, B1, B7, B9, B10, B11.
        ///
        /// # Safety
        /// As for [`cp_reduce_async_bulk_add`].
        #[inline(always)]
        pub unsafe fn $name<T: Bitwise>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32) {
            // SAFETY: the obligations are those of this function.
            unsafe { $hinted::<T, NoHint>(dst, src, bytes, NoHint) }
        }

        $(#[doc = $hint_doc])+
        ///
        #[doc = concat!("[`", stringify!($name), "`] with a cache policy.")]
        ///
        /// ISA: *cp.reduce.async.bulk*. Can break A7, B1, B7, B9, B10, B11.
        ///
        /// # Safety
        /// As for [`cp_reduce_async_bulk_add`].
        #[inline(always)]
        pub unsafe fn $hinted<T: Bitwise, H: Hint>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H) {
            device! {
                macro_rules! emit {
                    (($type:literal $class:ident $ty:ident)) => { reduce!(H hint $op $type dst src bytes) };
                }
                select!(emit [] bits_32_64 T)
            }
        }
    )*};
}

bit_reductions! {
    (cp_reduce_async_bulk_and
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.and.bN [dst], [src], bytes;` PTX 8.0, sm_90.")
    (cp_reduce_async_bulk_and_hint
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.and.bN [dst], [src], bytes, policy;` PTX 8.0, sm_90.")
    = ".and";
    (cp_reduce_async_bulk_or
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.or.bN [dst], [src], bytes;` PTX 8.0, sm_90.")
    (cp_reduce_async_bulk_or_hint
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.or.bN [dst], [src], bytes, policy;` PTX 8.0, sm_90.")
    = ".or";
    (cp_reduce_async_bulk_xor
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.bN [dst], [src], bytes;` PTX 8.0, sm_90.")
    (cp_reduce_async_bulk_xor_hint
        "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.xor.bN [dst], [src], bytes, policy;` PTX 8.0, sm_90.")
    = ".xor";
}

/// The reductions of words that wrap at a bound: each element of the source is a bound.
macro_rules! wrapping_reductions {
    ($(($name:ident $doc:literal) $op:literal;)*) => {$(
        #[doc = $doc]
        ///
        /// ISA: *cp.reduce.async.bulk*. Can break A7, B1, B7, B9, B10, B11.
        ///
        /// # Safety
        /// As for [`cp_reduce_async_bulk_add`], of `u32`.
        #[inline(always)]
        pub unsafe fn $name<H: Hint>(dst: Addr<Global>, src: Addr<SharedCta>, bytes: u32, hint: H) {
            device! { reduce!(H hint $op ".u32" dst src bytes) }
        }
    )*};
}

wrapping_reductions! {
    (cp_reduce_async_bulk_inc "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.inc.u32 [dst], [src], bytes, policy;` PTX 8.0, sm_90.") ".inc";
    (cp_reduce_async_bulk_dec "`cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.dec.u32 [dst], [src], bytes, policy;` PTX 8.0, sm_90.") ".dec";
}

macro_rules! peer_reductions {
    ($($(#[$doc:meta])* $name:ident<$class:ident> = $op:literal: $($number:ident $type:literal)*;)*) => {$(
        $(#[$doc])*
        ///
        /// Each element of the source is one relaxed reduction at cluster scope.
        ///
        /// ISA: *cp.reduce.async.bulk*. Can break A7, B1, B6, B9, C8, F3.
        ///
        /// # Safety
        /// 1. As for [`cp_async_bulk_to_cluster`]; `dst` holds initialised elements of type `T`.
        /// 2. Until the phase has been observed, others access the destination by reductions only.
        #[inline(always)]
        pub unsafe fn $name<T: $class>(
            dst: Addr<SharedCluster>,
            src: Addr<SharedCta>,
            bytes: u32,
            bar: Addr<SharedCluster>,
        ) {
            device! {
                match T::NUMBER {
                    $(Number::$number => asm!(
                        concat!(
                            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", $op, $type,
                            " [{}], [{}], {}, [{}];"
                        ),
                        in(reg32) dst.raw(), in(reg32) src.raw(), in(reg32) bytes, in(reg32) bar.raw(),
                        options(nostack)
                    ),)*
                    // No other type implements the trait.
                    _ => core::hint::unreachable_unchecked(),
                }
            }
        }
    )*};
}

peer_reductions! {
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.type [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_add_to_cluster<PeerAdd> = ".add": U32 ".u32" S32 ".s32" U64 ".u64";
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.type [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_min_to_cluster<PeerMinMax> = ".min": U32 ".u32" S32 ".s32";
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.type [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_max_to_cluster<PeerMinMax> = ".max": U32 ".u32" S32 ".s32";
}

macro_rules! peer_word_reductions {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *cp.reduce.async.bulk*. Can break A7, B1, B6, B9, C8, F3.
        ///
        /// # Safety
        /// As for [`cp_reduce_async_bulk_add_to_cluster`], of words of 32 bits.
        #[inline(always)]
        pub unsafe fn $name(
            dst: Addr<SharedCluster>,
            src: Addr<SharedCta>,
            bytes: u32,
            bar: Addr<SharedCluster>,
        ) {
            device! {
                asm!(
                    concat!(
                        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", $text,
                        " [{}], [{}], {}, [{}];"
                    ),
                    in(reg32) dst.raw(), in(reg32) src.raw(), in(reg32) bytes, in(reg32) bar.raw(),
                    options(nostack)
                )
            }
        }
    )*};
}

peer_word_reductions! {
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_inc_to_cluster = ".inc.u32";
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.dec.u32 [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_dec_to_cluster = ".dec.u32";
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b32 [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_and_to_cluster = ".and.b32";
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.or.b32 [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_or_to_cluster = ".or.b32";
    /// `cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.xor.b32 [dst], [src],
    /// bytes, [bar];` PTX 8.0, sm_90.
    cp_reduce_async_bulk_xor_to_cluster = ".xor.b32";
}
