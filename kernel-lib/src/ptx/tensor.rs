//! Bulk copies of tensor tiles.
//!
//! A tensor map describes a tensor in global memory, of one to five dimensions, and a box; a copy names
//! the box's first element by its coordinates (innermost first), and may hang over the tensor's edges:
//! reads there give the map's fill value, writes are dropped. Completion is as for [`bulk`](super::bulk)
//! copies, and a whole box always counts in full.
//!
//! The map is read through its own proxy: a map that is a kernel parameter needs nothing, one that was
//! written in memory needs its fence (B4).
//!
//! ISA: *cp.async.bulk.tensor*, *prefetch, prefetchu*. Left out: im2col, gather and scatter, cache
//! hints, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`.

use super::addr::{Addr, Generic, Shared, SharedCluster, SharedCta};
use super::tcgen05::CtaGroup;

mod sealed {
    pub trait Sealed {}
}

/// The coordinates of a box's first element, innermost first: one to five of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a coordinate of a tensor map",
    label = "expected `[i32; N]` with N from 1 to 5, innermost dimension first"
)]
pub trait Coordinates: sealed::Sealed + Copy {
    /// How many there are.
    const RANK: usize;
    #[doc(hidden)]
    fn padded(self) -> [i32; 5];
}

macro_rules! coordinates {
    ($($rank:literal: $($name:ident)* $(, $pad:literal)*;)*) => {$(
        impl sealed::Sealed for [i32; $rank] {}
        impl Coordinates for [i32; $rank] {
            const RANK: usize = $rank;
            #[inline(always)]
            fn padded(self) -> [i32; 5] {
                let [$($name),*] = self;
                [$($name,)* $($pad),*]
            }
        }
    )*};
}

coordinates! {
    1: a, 0, 0, 0, 0;
    2: a b, 0, 0, 0;
    3: a b c, 0, 0;
    4: a b c d, 0;
    5: a b c d e;
}

/// Calls `$emit!` with the rank's suffix, the template of its coordinates, and their names and places.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_rank {
    ($C:ident, $emit:ident! $($more:tt)*) => {
        match $C::RANK {
            1 => $emit!($($more)* ".1d" "{{{c0}}}" c0[0]),
            2 => $emit!($($more)* ".2d" "{{{c0}, {c1}}}" c0[0] c1[1]),
            3 => $emit!($($more)* ".3d" "{{{c0}, {c1}, {c2}}}" c0[0] c1[1] c2[2]),
            4 => $emit!($($more)* ".4d" "{{{c0}, {c1}, {c2}, {c3}}}" c0[0] c1[1] c2[2] c3[3]),
            5 => $emit!($($more)* ".5d" "{{{c0}, {c1}, {c2}, {c3}, {c4}}}" c0[0] c1[1] c2[2] c3[3] c4[4]),
            // `Coordinates` is sealed over these ranks.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

/// `cp.async.bulk.tensor.Nd.space.global.tile.mbarrier::complete_tx::bytes [dst], [map, {c…}], [bar];`
/// `.shared::cluster`: PTX 8.0, sm_90; `.shared::cta`: PTX 8.6, sm_90.
///
/// With `Sp = SharedCluster` the barrier is in the CTA that `dst` is in.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D14.
///
/// # Safety
/// 1. `map` is the generic address, aligned to 64 bytes, of a tensor map of rank `C::RANK` in parameter,
///    constant or global memory, unchanged while the copy is in flight; the tensor is live.
/// 2. `dst` is aligned to 128 bytes, or as the map's swizzle needs, and a whole box fits there.
/// 3. Nobody else accesses the destination until the phase of `bar` that these bytes complete has been
///    observed, and earlier ordinary accesses to it came before by synchronisation and a proxy fence.
/// 4. A live mbarrier is at `bar`, visible to the async proxy; its current phase expects the box's bytes.
/// 5. The CTA that `dst` is in does not exit before completion.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_to_shared<Sp: Shared, C: Coordinates>(
    dst: Addr<Sp>,
    map: Addr<Generic>,
    at: C,
    bar: Addr<Sp>,
) {
    device! {
        let at = at.padded();
        macro_rules! emit {
            ($space:literal) => { by_rank!(C, emit_rank! $space) };
        }
        macro_rules! emit_rank {
            ($space:literal $rank:literal $text:literal $($c:ident[$i:literal])*) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $rank, $space,
                        ".global.tile.mbarrier::complete_tx::bytes [{dst}], [{map}, ", $text, "], [{bar}];"
                    ),
                    dst = in(reg32) dst.widened() as u32, map = in(reg64) map.raw(),
                    bar = in(reg32) bar.widened() as u32, $($c = in(reg32) at[$i],)*
                    options(nostack)
                )
            };
        }
        select!(emit [] shared Sp)
    }
}

/// `cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
/// [dst], [map, {c…}], [bar], mask;` PTX 8.0, sm_90 (fast on sm_90a, sm_100a).
///
/// The box lands, and completes, at the offsets of `dst` and `bar` in every CTA whose rank is in `mask`.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D14, F3.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_shared`], in each of the CTAs.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_multicast<C: Coordinates>(
    dst: Addr<SharedCluster>,
    map: Addr<Generic>,
    at: C,
    bar: Addr<SharedCluster>,
    mask: u16,
) {
    device! {
        let at = at.padded();
        macro_rules! emit {
            ($rank:literal $text:literal $($c:ident[$i:literal])*) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $rank,
                        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{dst}], [{map}, ",
                        $text, "], [{bar}], {mask};"
                    ),
                    dst = in(reg32) dst.raw(), map = in(reg64) map.raw(), bar = in(reg32) bar.raw(),
                    mask = in(reg16) mask, $($c = in(reg32) at[$i],)*
                    options(nostack)
                )
            };
        }
        by_rank!(C, emit!)
    }
}

/// `cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::N [dst],
/// [map, {c…}], [bar];` PTX 8.6, sm_100f, sm_110f.
///
/// With [`Group2`](super::tcgen05::Group2) the barrier may be that of the peer CTA of the pair.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D10, D14, F3.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_shared`]; `bar` is in the CTA of `dst` or in its peer.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_to_pair<G: CtaGroup, C: Coordinates>(
    dst: Addr<SharedCluster>,
    map: Addr<Generic>,
    at: C,
    bar: Addr<SharedCluster>,
) {
    device! {
        let at = at.padded();
        macro_rules! emit {
            ($group:literal) => { by_rank!(C, emit_rank! $group) };
        }
        macro_rules! emit_rank {
            ($group:literal $rank:literal $text:literal $($c:ident[$i:literal])*) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $rank,
                        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes", $group,
                        " [{dst}], [{map}, ", $text, "], [{bar}];"
                    ),
                    dst = in(reg32) dst.raw(), map = in(reg64) map.raw(), bar = in(reg32) bar.raw(),
                    $($c = in(reg32) at[$i],)*
                    options(nostack)
                )
            };
        }
        select!(emit [] cta_group G)
    }
}

/// `cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group [map, {c…}], [src];` PTX 8.0, sm_90.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B4, B5, B7, B9, B10, B11.
///
/// # Safety
/// 1. `map` is as for [`cp_async_bulk_tensor_to_shared`], of a tensor that may be written.
/// 2. `src` is aligned to 128 bytes, or as the map's swizzle needs, and a whole box is there.
/// 3. The source was last written through the async proxy, or each writer executed `fence.proxy.async`
///    before the synchronisation that leads here.
/// 4. The source is not written before [`wait_group_read`](super::bulk::wait_group_read) of this thread
///    covers the copy, and nobody reads the destination before
///    [`wait_group`](super::bulk::wait_group) of this thread and synchronisation.
/// 5. The CTA does not exit before the former.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_to_global<C: Coordinates>(
    map: Addr<Generic>,
    at: C,
    src: Addr<SharedCta>,
) {
    device! {
        let at = at.padded();
        macro_rules! emit {
            ($rank:literal $text:literal $($c:ident[$i:literal])*) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $rank,
                        ".global.shared::cta.tile.bulk_group [{map}, ", $text, "], [{src}];"
                    ),
                    map = in(reg64) map.raw(), src = in(reg32) src.raw(), $($c = in(reg32) at[$i],)*
                    options(nostack)
                )
            };
        }
        by_rank!(C, emit!)
    }
}

/// `prefetch.tensormap [map];` PTX 8.0, sm_90.
///
/// Brings a tensor map near before its first use.
///
/// ISA: *prefetch, prefetchu*.
///
/// # Safety
/// 1. `map` is the generic address of a tensor map in parameter, constant or global memory.
#[inline(always)]
pub unsafe fn prefetch_tensormap(map: Addr<Generic>) {
    device! { asm!("prefetch.tensormap [{}];", in(reg64) map.raw(), options(nostack)) }
}
