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
//! All of them are forms of [`tensor_full`](super::tensor_full), where every mode and qualifier is.
//!
//! ISA: *cp.async.bulk.tensor*, *cp.reduce.async.bulk.tensor*, *cp.async.bulk.prefetch.tensor*, *prefetch,
//! prefetchu*.

use super::addr::{Addr, Generic, Shared, SharedCluster, SharedCta};
use super::policy::{NoHint, Policy};
use super::tcgen05::CtaGroup;
use super::tensor_full::{
    Add, And, Dec, Gather4, Inc, Max, Min, Multicast, NoGroup, One, Or, Scatter4, Tile, Window,
    Xor, cp_async_bulk_tensor_load as load, cp_async_bulk_tensor_store as store,
    cp_reduce_async_bulk_tensor as reduce,
};

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
    // SAFETY: the obligations are those of this function.
    unsafe { load::<Sp, _, _, NoGroup, _>(dst, map, Tile(at), bar, One, NoHint) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { load::<_, _, _, NoGroup, _>(dst, map, Tile(at), bar, Multicast(mask), NoHint) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { load::<_, _, _, G, _>(dst, map, Tile(at), bar, One, NoHint) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { store(map, Tile(at), src, NoHint) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { load::<Sp, _, _, NoGroup, _>(dst, map, Tile(at), bar, One, policy) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { load::<_, _, _, NoGroup, _>(dst, map, Tile(at), bar, Multicast(mask), policy) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { store(map, Tile(at), src, policy) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { super::tensor_full::cp_async_bulk_prefetch_tensor(map, Tile(at), NoHint) }
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {$(
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
            // SAFETY: the obligations are those of this function.
            unsafe { reduce::<$op, _, _>(map, Tile(at), src, NoHint) }
        }
    )*};
}

reductions! {
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.add.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_add = Add;
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.min.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_min = Min;
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.max.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_max = Max;
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.inc.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_inc = Inc;
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.dec.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_dec = Dec;
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.and.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_and = And;
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.or.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_or = Or;
    /// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.xor.tile.bulk_group [map, {c…}], [src];` PTX 8.0,
    /// sm_90.
    cp_reduce_async_bulk_tensor_xor = Xor;
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
    // SAFETY: the obligations are those of this function.
    unsafe { load::<Sp, _, _, NoGroup, _>(dst, map, Window(at, offsets), bar, One, NoHint) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { load::<Sp, _, _, NoGroup, _>(dst, map, Gather4(at), bar, One, NoHint) }
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
    // SAFETY: the obligations are those of this function.
    unsafe { store(map, Scatter4(at), src, NoHint) }
}
