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
//! ISA: *cp.async.bulk.tensor*, *cp.reduce.async.bulk.tensor*, *cp.async.bulk.prefetch.tensor*, *prefetch,
//! prefetchu*. Left out: `.im2col::w`, hints on gathers and reductions, `cta_group` with multicast.

use super::addr::{Addr, Generic, Shared, SharedCluster, SharedCta};
use super::policy::Policy;
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

/// `cp.async.bulk.tensor.Nd.space.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [dst], [map,
/// {c…}], [bar], policy;` `.shared::cluster`: PTX 8.0, sm_90; `.shared::cta`: PTX 8.6, sm_90.
///
/// [`cp_async_bulk_tensor_to_shared`] with a cache policy.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D14.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_shared`].
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_to_shared_hint<Sp: Shared, C: Coordinates>(
    dst: Addr<Sp>,
    map: Addr<Generic>,
    at: C,
    bar: Addr<Sp>,
    policy: Policy,
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
                        ".global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [{dst}], [{map}, ", $text,
                        "], [{bar}], {policy};"
                    ),
                    dst = in(reg32) dst.widened() as u32, map = in(reg64) map.raw(),
                    bar = in(reg32) bar.widened() as u32, policy = in(reg64) policy.raw(),
                    $($c = in(reg32) at[$i],)*
                    options(nostack)
                )
            };
        }
        select!(emit [] shared Sp)
    }
}

/// `cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
/// .L2::cache_hint [dst], [map, {c…}], [bar], mask, policy;` PTX 8.0, sm_90.
///
/// [`cp_async_bulk_tensor_multicast`] with a cache policy.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D14, F3.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_multicast`].
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_multicast_hint<C: Coordinates>(
    dst: Addr<SharedCluster>,
    map: Addr<Generic>,
    at: C,
    bar: Addr<SharedCluster>,
    mask: u16,
    policy: Policy,
) {
    device! {
        let at = at.padded();
        macro_rules! emit {
            ($rank:literal $text:literal $($c:ident[$i:literal])*) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $rank,
                        ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [{dst}], [{map}, ",
                        $text, "], [{bar}], {mask}, {policy};"
                    ),
                    dst = in(reg32) dst.raw(), map = in(reg64) map.raw(), bar = in(reg32) bar.raw(),
                    mask = in(reg16) mask, policy = in(reg64) policy.raw(), $($c = in(reg32) at[$i],)*
                    options(nostack)
                )
            };
        }
        by_rank!(C, emit!)
    }
}

/// `cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group.L2::cache_hint [map, {c…}], [src], policy;`
/// PTX 8.0, sm_90.
///
/// [`cp_async_bulk_tensor_to_global`] with a cache policy.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B4, B5, B7, B9, B10, B11.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_global`].
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_to_global_hint<C: Coordinates>(
    map: Addr<Generic>,
    at: C,
    src: Addr<SharedCta>,
    policy: Policy,
) {
    device! {
        let at = at.padded();
        macro_rules! emit {
            ($rank:literal $text:literal $($c:ident[$i:literal])*) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $rank,
                        ".global.shared::cta.tile.bulk_group.L2::cache_hint [{map}, ", $text, "], [{src}], {policy};"
                    ),
                    map = in(reg64) map.raw(), src = in(reg32) src.raw(), policy = in(reg64) policy.raw(),
                    $($c = in(reg32) at[$i],)*
                    options(nostack)
                )
            };
        }
        by_rank!(C, emit!)
    }
}

/// `cp.async.bulk.prefetch.tensor.Nd.L2.global.tile [map, {c…}];` PTX 8.0, sm_90.
///
/// Brings a box near; nothing is written and nothing has to be waited for.
///
/// ISA: *cp.async.bulk.prefetch.tensor*. Can break B4, B5.
///
/// # Safety
/// 1. `map` is as for [`cp_async_bulk_tensor_to_shared`].
#[inline(always)]
pub unsafe fn cp_async_bulk_prefetch_tensor<C: Coordinates>(map: Addr<Generic>, at: C) {
    device! {
        let at = at.padded();
        macro_rules! emit {
            ($rank:literal $text:literal $($c:ident[$i:literal])*) => {
                asm!(
                    concat!("cp.async.bulk.prefetch.tensor", $rank, ".L2.global.tile [{map}, ", $text, "];"),
                    map = in(reg64) map.raw(), $($c = in(reg32) at[$i],)* options(nostack)
                )
            };
        }
        by_rank!(C, emit!)
    }
}

macro_rules! reductions {
    (($d:tt) $($(#[$doc:meta])* $name:ident = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Each element of the box is one relaxed reduction at gpu scope; the map names their type.
        ///
        /// ISA: *cp.reduce.async.bulk.tensor*. Can break A7, B1, B4, B5, B7, B9, B10, B11, D14.
        ///
        /// # Safety
        /// 1. As for [`cp_async_bulk_tensor_to_global`]; the map's element type has this operation.
        /// 2. Until completion was observed, others access the destination by reductions only.
        #[inline(always)]
        pub unsafe fn $name<C: Coordinates>(map: Addr<Generic>, at: C, src: Addr<SharedCta>) {
            device! {
                let at = at.padded();
                macro_rules! emit {
                    ($rank:literal $text:literal $d($d c:ident[$d i:literal])*) => {
                        asm!(
                            concat!(
                                "cp.reduce.async.bulk.tensor", $rank, ".global.shared::cta", $op,
                                ".tile.bulk_group [{map}, ", $text, "], [{src}];"
                            ),
                            map = in(reg64) map.raw(), src = in(reg32) src.raw(),
                            $d($d c = in(reg32) at[$d i],)*
                            options(nostack)
                        )
                    };
                }
                by_rank!(C, emit!)
            }
        }
    )*};
}

reductions! {
    ($)
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.add.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_add = ".add";
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.min.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_min = ".min";
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.max.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_max = ".max";
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.inc.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_inc = ".inc";
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.dec.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_dec = ".dec";
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.and.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_and = ".and";
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.or.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_or = ".or";
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.xor.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_xor = ".xor";
}

/// Coordinates of a map in im2col mode: of rank 3 to 5, with two offsets fewer than coordinates.
#[diagnostic::on_unimplemented(
    message = "im2col copies have 3 to 5 coordinates, not `{Self}`",
    label = "expected `[i32; 3]`, `[i32; 4]` or `[i32; 5]`"
)]
pub trait Im2col: Coordinates {
    /// One offset for each spatial dimension, innermost first.
    type Offsets: Copy;
    #[doc(hidden)]
    fn padded_offsets(offsets: Self::Offsets) -> [u16; 3];
}

impl Im2col for [i32; 3] {
    type Offsets = [u16; 1];
    #[inline(always)]
    fn padded_offsets([a]: [u16; 1]) -> [u16; 3] {
        [a, 0, 0]
    }
}
impl Im2col for [i32; 4] {
    type Offsets = [u16; 2];
    #[inline(always)]
    fn padded_offsets([a, b]: [u16; 2]) -> [u16; 3] {
        [a, b, 0]
    }
}
impl Im2col for [i32; 5] {
    type Offsets = [u16; 3];
    #[inline(always)]
    fn padded_offsets(offsets: [u16; 3]) -> [u16; 3] {
        offsets
    }
}

/// `cp.async.bulk.tensor.Nd.space.global.im2col.mbarrier::complete_tx::bytes [dst], [map, {c…}], [bar],
/// {o…};` `.shared::cluster`: PTX 8.0, sm_90; `.shared::cta`: PTX 8.6, sm_90.
///
/// The map is in im2col mode: a column of pixels instead of a box.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D14.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_shared`]; the map is in im2col mode.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_im2col_to_shared<Sp: Shared, C: Im2col>(
    dst: Addr<Sp>,
    map: Addr<Generic>,
    at: C,
    offsets: C::Offsets,
    bar: Addr<Sp>,
) {
    device! {
        let at = at.padded();
        let offsets = C::padded_offsets(offsets);
        macro_rules! emit_rank {
            ($space:literal $rank:literal $text:literal $shift:literal $($c:ident[$i:literal])*; $($o:ident[$j:literal])*) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $rank, $space,
                        ".global.im2col.mbarrier::complete_tx::bytes [{dst}], [{map}, ", $text, "], [{bar}], ", $shift, ";"
                    ),
                    dst = in(reg32) dst.widened() as u32, map = in(reg64) map.raw(),
                    bar = in(reg32) bar.widened() as u32, $($c = in(reg32) at[$i],)*
                    $($o = in(reg16) offsets[$j],)*
                    options(nostack)
                )
            };
        }
        macro_rules! emit {
            ($space:literal) => {
                match C::RANK {
                    3 => emit_rank!($space ".3d" "{{{c0}, {c1}, {c2}}}" "{{{o0}}}" c0[0] c1[1] c2[2]; o0[0]),
                    4 => emit_rank!($space ".4d" "{{{c0}, {c1}, {c2}, {c3}}}" "{{{o0}, {o1}}}"
                        c0[0] c1[1] c2[2] c3[3]; o0[0] o1[1]),
                    5 => emit_rank!($space ".5d" "{{{c0}, {c1}, {c2}, {c3}, {c4}}}" "{{{o0}, {o1}, {o2}}}"
                        c0[0] c1[1] c2[2] c3[3] c4[4]; o0[0] o1[1] o2[2]),
                    // `Im2col` is implemented for these ranks only.
                    _ => core::hint::unreachable_unchecked(),
                }
            };
        }
        select!(emit [] shared Sp)
    }
}

/// `cp.async.bulk.tensor.2d.space.global.tile::gather4.mbarrier::complete_tx::bytes [dst], [map, {column,
/// row…}], [bar];` PTX 8.6; `.shared::cta`: PTX 8.6, sm_100; `.shared::cluster`: PTX 8.6, sm_100f, sm_110f.
///
/// Four rows of a matrix, from one column on: `at` is the column and the four rows.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D14.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_shared`]; the map is of rank 2 with a box of one row.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_gather4_to_shared<Sp: Shared>(
    dst: Addr<Sp>,
    map: Addr<Generic>,
    at: [i32; 5],
    bar: Addr<Sp>,
) {
    device! {
        macro_rules! emit {
            ($space:literal) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor.2d", $space,
                        ".global.tile::gather4.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}, {}, {}, {}}}], [{}];"
                    ),
                    in(reg32) dst.widened() as u32, in(reg64) map.raw(), in(reg32) at[0], in(reg32) at[1],
                    in(reg32) at[2], in(reg32) at[3], in(reg32) at[4], in(reg32) bar.widened() as u32,
                    options(nostack)
                )
            };
        }
        select!(emit [] shared Sp)
    }
}

/// `cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [map, {column, row…}], [src];` PTX
/// 8.6, sm_100f, sm_110f.
///
/// Four rows of a matrix, from one column on: `at` is the column and the four rows.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B4, B5, B7, B9, B10, B11.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_global`]; the map is of rank 2 with a box of one row.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_scatter4_to_global(
    map: Addr<Generic>,
    at: [i32; 5],
    src: Addr<SharedCta>,
) {
    device! {
        asm!(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [{}, {{{}, {}, {}, {}, {}}}], [{}];",
            in(reg64) map.raw(), in(reg32) at[0], in(reg32) at[1], in(reg32) at[2], in(reg32) at[3],
            in(reg32) at[4], in(reg32) src.raw(), options(nostack)
        )
    }
}
