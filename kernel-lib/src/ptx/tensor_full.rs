//! Bulk copies of tensor tiles with every qualifier said.
//!
//! [`tensor`](super::tensor) has the usual forms; here each qualifier is a type parameter. What a copy
//! touches is its *place*: the coordinates in one of the map's modes. Who receives it, whose barrier it
//! completes on and how the cache treats it may each be left out ([`One`], [`NoGroup`],
//! [`NoHint`](super::policy::NoHint)).
//!
//! ISA: *cp.async.bulk.tensor*, *cp.reduce.async.bulk.tensor*, *cp.async.bulk.prefetch.tensor*; *Tensor copy
//! modes*.

use super::addr::{Addr, Generic, Shared, SharedCluster, SharedCta};
use super::policy::Hint;
use super::tcgen05::CtaGroup;
use super::tensor::{Coordinates, Im2col};

mod sealed {
    pub trait Sealed {}
    pub trait Receiving {}
    pub trait Grouped {}
}

/// Which elements of a tensor a copy into shared memory reads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no place in a tensor that a copy reads",
    label = "expected `Tile`, `Window`, `Wide`, `Wide128` or `Gather4`"
)]
pub trait Place: sealed::Sealed + Copy {
    #[doc(hidden)]
    const MODE: u8;
    #[doc(hidden)]
    fn coordinates(self) -> [i32; 5];
    #[doc(hidden)]
    fn offsets(self) -> [u16; 3];
}

/// Which elements of a tensor a copy out of shared memory, or a reduction, writes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no place in a tensor that a copy writes",
    label = "expected `Tile` or `Pixels`, or `Scatter4` for a copy that does not reduce"
)]
pub trait Target: sealed::Sealed + Copy {
    #[doc(hidden)]
    const MODE: u8;
    #[doc(hidden)]
    fn coordinates(self) -> [i32; 5];
}

/// A [`Target`] of reductions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no place in a tensor that a reduction writes",
    label = "expected `Tile` or `Pixels`"
)]
pub trait Reducible: Target {}

/// `.tile`: the box at these coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Tile<C: Coordinates>(pub C);

/// `.im2col`: a column of pixels, each moved by the offsets.
#[derive(Clone, Copy, Debug)]
pub struct Window<C: Im2col>(pub C, pub C::Offsets);

/// `.im2col::w`: pixels along the innermost spatial dimension only.
#[derive(Clone, Copy, Debug)]
pub struct Wide<C: Im2col> {
    /// The first pixel.
    pub at: C,
    /// Pixels beyond the bounding box that are copied too.
    pub halo: u16,
    /// How far the pixels are moved.
    pub offset: u16,
}

/// `.im2col::w::128`: as [`Wide`], 128 pixels in groups of 32, each with its halo.
#[derive(Clone, Copy, Debug)]
pub struct Wide128<C: Im2col> {
    /// The first pixel.
    pub at: C,
    /// Pixels behind each group that are copied too.
    pub halo: u16,
    /// How far the pixels are moved.
    pub offset: u16,
}

/// `.tile::gather4`: a column and four rows.
#[derive(Clone, Copy, Debug)]
pub struct Gather4(pub [i32; 5]);

/// `.im2col_no_offs`: the pixels of a column.
#[derive(Clone, Copy, Debug)]
pub struct Pixels<C: Im2col>(pub C);

/// `.tile::scatter4`: a column and four rows.
#[derive(Clone, Copy, Debug)]
pub struct Scatter4(pub [i32; 5]);

/// The mode, and the rank, as one number.
const TILE: u8 = 0;
const WINDOW: u8 = 10;
const WIDE: u8 = 20;
const WIDE_128: u8 = 30;
const FOUR: u8 = 40;

macro_rules! places {
    ($class:ident: $($name:ident $(<$C:ident: $bound:ident>)? = $mode:expr, |$this:ident| $at:expr $(, |$that:ident| $offsets:expr)?;)*) => {$(
        impl$(<$C: $bound>)? $class for $name$(<$C>)? {
            const MODE: u8 = $mode;
            #[inline(always)]
            fn coordinates(self) -> [i32; 5] {
                let $this = self;
                $at
            }
            $(
                #[inline(always)]
                fn offsets(self) -> [u16; 3] {
                    let $that = self;
                    $offsets
                }
            )?
        }
    )*};
}

impl<C: Coordinates> sealed::Sealed for Tile<C> {}
impl<C: Im2col> sealed::Sealed for Window<C> {}
impl<C: Im2col> sealed::Sealed for Wide<C> {}
impl<C: Im2col> sealed::Sealed for Wide128<C> {}
impl<C: Im2col> sealed::Sealed for Pixels<C> {}
impl sealed::Sealed for Gather4 {}
impl sealed::Sealed for Scatter4 {}
impl<C: Coordinates> Reducible for Tile<C> {}
impl<C: Im2col> Reducible for Pixels<C> {}

places! { Place:
    Tile<C: Coordinates> = TILE + C::RANK as u8, |this| this.0.padded(), |_this| [0; 3];
    Window<C: Im2col> = WINDOW + C::RANK as u8, |this| this.0.padded(), |this| C::padded_offsets(this.1);
    Wide<C: Im2col> = WIDE + C::RANK as u8, |this| this.at.padded(), |this| [this.halo, this.offset, 0];
    Wide128<C: Im2col> = WIDE_128 + C::RANK as u8, |this| this.at.padded(), |this| [this.halo, this.offset, 0];
    Gather4 = FOUR, |this| this.0, |_this| [0; 3];
}

places! { Target:
    Tile<C: Coordinates> = TILE + C::RANK as u8, |this| this.0.padded();
    Pixels<C: Im2col> = WINDOW + C::RANK as u8, |this| this.0.padded();
    Scatter4 = FOUR, |this| this.0;
}

/// Who receives a copy.
#[diagnostic::on_unimplemented(
    message = "a copy into `{Sp}` is not received by `{Self}`",
    label = "expected `One`, or `Multicast` with `Sp` = `SharedCluster`"
)]
pub trait Receivers<Sp: Shared>: sealed::Receiving + Copy {
    #[doc(hidden)]
    const MANY: bool;
    #[doc(hidden)]
    fn mask(self) -> u16;
}

/// The CTA that the destination is in.
#[derive(Clone, Copy, Debug)]
pub struct One;
/// `.multicast::cluster`: every CTA of the cluster whose rank is in the mask, at the offsets of the
/// destination and the barrier.
#[derive(Clone, Copy, Debug)]
pub struct Multicast(pub u16);
impl sealed::Receiving for One {}
impl sealed::Receiving for Multicast {}
impl<Sp: Shared> Receivers<Sp> for One {
    const MANY: bool = false;
    #[inline(always)]
    fn mask(self) -> u16 {
        0
    }
}
impl Receivers<SharedCluster> for Multicast {
    const MANY: bool = true;
    #[inline(always)]
    fn mask(self) -> u16 {
        self.0
    }
}

/// Whose barrier a copy completes on: that of the receiver ([`NoGroup`],
/// [`Group1`](super::tcgen05::Group1)), or that of either CTA of a pair ([`Group2`](super::tcgen05::Group2)).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no `.cta_group` of a copy",
    label = "expected `NoGroup`, `Group1` or `Group2`"
)]
pub trait Grouped: sealed::Grouped + Copy + 'static {
    #[doc(hidden)]
    const SIZE: u32;
}

/// No `.cta_group`.
#[derive(Clone, Copy, Debug)]
pub struct NoGroup;
impl sealed::Grouped for NoGroup {}
impl Grouped for NoGroup {
    const SIZE: u32 = 0;
}
impl<G: CtaGroup> sealed::Grouped for G {}
impl<G: CtaGroup> Grouped for G {
    const SIZE: u32 = G::CTAS;
}

/// What `cp.reduce.async.bulk.tensor` does to each element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no reduction of tensor tiles",
    label = "expected `Add`, `Min`, `Max`, `Inc`, `Dec`, `And`, `Or` or `Xor` of this module"
)]
pub trait Reduction: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const OP: u8;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $number:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Reduction for $name {
            const OP: u8 = $number;
        }
    )*};
}

operations! {
    /// `.add`
    Add 0;
    /// `.min`
    Min 1;
    /// `.max`
    Max 2;
    /// `.inc`
    Inc 3;
    /// `.dec`
    Dec 4;
    /// `.and`
    And 5;
    /// `.or`
    Or 6;
    /// `.xor`
    Xor 7;
}

/// As the `select!` of the parent module, for the qualifiers of this one. A place becomes its dimension and
/// mode, the templates of its coordinates and offsets, and their names and places.
#[cfg(target_arch = "nvptx64")]
macro_rules! choose {
    ($emit:ident [$($done:tt)*]) => { $emit!($($done)*) };
    ($emit:ident [$($done:tt)*] , $($rest:tt)+) => { choose!($emit [$($done)*] $($rest)+) };
    // A place, whose coordinates follow from their number: `shift` is the template of its offsets, `after` what names them.
    ($emit:ident [$($done:tt)*] @at 1 ($dim:literal $mode:literal $($shift:literal)?) [$($after:tt)*] $($rest:tt)*) => {
        choose!($emit [$($done)* ($dim $mode "{{{c0}}}" $($shift)? c0[0] $($after)*)] $($rest)*)
    };
    ($emit:ident [$($done:tt)*] @at 2 ($dim:literal $mode:literal $($shift:literal)?) [$($after:tt)*] $($rest:tt)*) => {
        choose!($emit [$($done)* ($dim $mode "{{{c0}, {c1}}}" $($shift)? c0[0] c1[1] $($after)*)] $($rest)*)
    };
    ($emit:ident [$($done:tt)*] @at 3 ($dim:literal $mode:literal $($shift:literal)?) [$($after:tt)*] $($rest:tt)*) => {
        choose!($emit [$($done)* ($dim $mode "{{{c0}, {c1}, {c2}}}" $($shift)? c0[0] c1[1] c2[2] $($after)*)] $($rest)*)
    };
    ($emit:ident [$($done:tt)*] @at 4 ($dim:literal $mode:literal $($shift:literal)?) [$($after:tt)*] $($rest:tt)*) => {
        choose!($emit [$($done)* ($dim $mode "{{{c0}, {c1}, {c2}, {c3}}}" $($shift)? c0[0] c1[1] c2[2] c3[3] $($after)*)] $($rest)*)
    };
    ($emit:ident [$($done:tt)*] @at 5 ($dim:literal $mode:literal $($shift:literal)?) [$($after:tt)*] $($rest:tt)*) => {
        choose!($emit [$($done)* ($dim $mode "{{{c0}, {c1}, {c2}, {c3}, {c4}}}" $($shift)? c0[0] c1[1] c2[2] c3[3] c4[4] $($after)*)] $($rest)*)
    };
    ($emit:ident [$($done:tt)*] place $P:ident $($rest:tt)*) => {
        match const { <$P as Place>::MODE } {
            1 => choose!($emit [$($done)*] @at 1 (".1d" ".tile" "") [;] $($rest)*),
            2 => choose!($emit [$($done)*] @at 2 (".2d" ".tile" "") [;] $($rest)*),
            3 => choose!($emit [$($done)*] @at 3 (".3d" ".tile" "") [;] $($rest)*),
            4 => choose!($emit [$($done)*] @at 4 (".4d" ".tile" "") [;] $($rest)*),
            5 => choose!($emit [$($done)*] @at 5 (".5d" ".tile" "") [;] $($rest)*),
            13 => choose!($emit [$($done)*] @at 3 (".3d" ".im2col" ", {{{o0}}}") [; o0[0]] $($rest)*),
            14 => choose!($emit [$($done)*] @at 4 (".4d" ".im2col" ", {{{o0}, {o1}}}") [; o0[0] o1[1]] $($rest)*),
            15 => choose!($emit [$($done)*] @at 5 (".5d" ".im2col" ", {{{o0}, {o1}, {o2}}}") [; o0[0] o1[1] o2[2]] $($rest)*),
            23 => choose!($emit [$($done)*] @at 3 (".3d" ".im2col::w" ", {{{o0}, {o1}}}") [; o0[0] o1[1]] $($rest)*),
            24 => choose!($emit [$($done)*] @at 4 (".4d" ".im2col::w" ", {{{o0}, {o1}}}") [; o0[0] o1[1]] $($rest)*),
            25 => choose!($emit [$($done)*] @at 5 (".5d" ".im2col::w" ", {{{o0}, {o1}}}") [; o0[0] o1[1]] $($rest)*),
            33 => choose!($emit [$($done)*] @at 3 (".3d" ".im2col::w::128" ", {{{o0}, {o1}}}") [; o0[0] o1[1]] $($rest)*),
            34 => choose!($emit [$($done)*] @at 4 (".4d" ".im2col::w::128" ", {{{o0}, {o1}}}") [; o0[0] o1[1]] $($rest)*),
            35 => choose!($emit [$($done)*] @at 5 (".5d" ".im2col::w::128" ", {{{o0}, {o1}}}") [; o0[0] o1[1]] $($rest)*),
            40 => choose!($emit [$($done)*] @at 5 (".2d" ".tile::gather4" "") [;] $($rest)*),
            // `Place` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] target $P:ident $($rest:tt)*) => {
        match const { <$P as Target>::MODE } {
            40 => choose!($emit [$($done)*] @at 5 (".2d" ".tile::scatter4") [] $($rest)*),
            _ => choose!($emit [$($done)*] reducible $P $($rest)*),
        }
    };
    ($emit:ident [$($done:tt)*] reducible $P:ident $($rest:tt)*) => {
        match const { <$P as Target>::MODE } {
            1 => choose!($emit [$($done)*] @at 1 (".1d" ".tile") [] $($rest)*),
            2 => choose!($emit [$($done)*] @at 2 (".2d" ".tile") [] $($rest)*),
            3 => choose!($emit [$($done)*] @at 3 (".3d" ".tile") [] $($rest)*),
            4 => choose!($emit [$($done)*] @at 4 (".4d" ".tile") [] $($rest)*),
            5 => choose!($emit [$($done)*] @at 5 (".5d" ".tile") [] $($rest)*),
            13 => choose!($emit [$($done)*] @at 3 (".3d" ".im2col_no_offs") [] $($rest)*),
            14 => choose!($emit [$($done)*] @at 4 (".4d" ".im2col_no_offs") [] $($rest)*),
            15 => choose!($emit [$($done)*] @at 5 (".5d" ".im2col_no_offs") [] $($rest)*),
            // `Reducible` is implemented for these only.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] receivers $Sp:ident $R:ident $($rest:tt)*) => {
        match const { (<$Sp as super::addr::Space>::KIND as u8, <$R as Receivers<$Sp>>::MANY) } {
            (super::code::SPACE_SHARED_CTA, _) => choose!($emit [$($done)* (".shared::cta" "" "")] $($rest)*),
            (_, false) => choose!($emit [$($done)* (".shared::cluster" "" "")] $($rest)*),
            (_, true) => choose!($emit [$($done)* (".shared::cluster" ".multicast::cluster" ", {mask}" mask)] $($rest)*),
        }
    };
    ($emit:ident [$($done:tt)*] grouped $G:ident $($rest:tt)*) => {
        match const { <$G as Grouped>::SIZE } {
            0 => choose!($emit [$($done)* ""] $($rest)*),
            1 => choose!($emit [$($done)* ".cta_group::1"] $($rest)*),
            2 => choose!($emit [$($done)* ".cta_group::2"] $($rest)*),
            // `Grouped` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] hint $H:ident $($rest:tt)*) => {
        match const { <$H as Hint>::HINTED } {
            false => choose!($emit [$($done)* ("" "")] $($rest)*),
            true => choose!($emit [$($done)* (".L2::cache_hint" ", {policy}" policy)] $($rest)*),
        }
    };
    ($emit:ident [$($done:tt)*] operation $O:ident $($rest:tt)*) => {
        match const { <$O as Reduction>::OP } {
            0 => choose!($emit [$($done)* ".add"] $($rest)*),
            1 => choose!($emit [$($done)* ".min"] $($rest)*),
            2 => choose!($emit [$($done)* ".max"] $($rest)*),
            3 => choose!($emit [$($done)* ".inc"] $($rest)*),
            4 => choose!($emit [$($done)* ".dec"] $($rest)*),
            5 => choose!($emit [$($done)* ".and"] $($rest)*),
            6 => choose!($emit [$($done)* ".or"] $($rest)*),
            7 => choose!($emit [$($done)* ".xor"] $($rest)*),
            // `Reduction` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

/// `cp.async.bulk.tensor.Nd.space.global.mode.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::N
/// .L2::cache_hint [dst], [map, {c…}], [bar], {o…}, mask, policy;` `.shared::cluster`: PTX 8.0, sm_90;
/// `.shared::cta`: PTX 8.6, sm_90; `.cta_group::1` and `.cta_group::2`: PTX 8.6, sm_100f, sm_110f;
/// `.shared::cta.tile::gather4` and `.shared::cta.im2col::w`: PTX 8.6, sm_100; `.shared::cluster.tile::gather4`
/// and `.shared::cluster.im2col::w`: PTX 8.6, sm_100f, sm_110f; `.im2col::w::128`: PTX 8.6, sm_100f, sm_110f.
///
/// With `Sp = SharedCluster` the barrier is in the CTA that `dst` is in; with `Group2` it may be that of the
/// peer CTA of the pair.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B2, B4, B5, B6, B9, C8, D10, D14, F3.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_shared`](super::tensor::cp_async_bulk_tensor_to_shared), in each of the
///    CTAs that receive; the map is in the mode of `place`.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_load<
    Sp: Shared,
    P: Place,
    R: Receivers<Sp>,
    G: Grouped,
    H: Hint,
>(
    dst: Addr<Sp>,
    map: Addr<Generic>,
    place: P,
    bar: Addr<Sp>,
    receivers: R,
    hint: H,
) {
    device! {
        let (at, offsets) = (place.coordinates(), place.offsets());
        let (receiving, cached) = (receivers.mask(), hint.bits());
        macro_rules! emit {
            (
                ($dim:literal $mode:literal $text:literal $shift:literal $($c:ident[$i:literal])*; $($o:ident[$j:literal])*)
                ($space:literal $multicast:literal $mask_text:literal $($mask:ident)?) $group:literal
                ($hint:literal $policy_text:literal $($policy:ident)?)
            ) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $dim, $space, ".global", $mode, ".mbarrier::complete_tx::bytes",
                        $multicast, $group, $hint, " [{dst}], [{map}, ", $text, "], [{bar}]", $shift, $mask_text,
                        $policy_text, ";"
                    ),
                    dst = in(reg32) dst.widened() as u32, map = in(reg64) map.raw(),
                    bar = in(reg32) bar.widened() as u32, $($c = in(reg32) at[$i],)*
                    $($o = in(reg16) offsets[$j],)* $($mask = in(reg16) receiving,)?
                    $($policy = in(reg64) cached,)?
                    options(nostack)
                )
            };
        }
        choose!(emit [] place P, receivers Sp R, grouped G, hint H)
    }
}

/// `cp.async.bulk.tensor.Nd.global.shared::cta.mode.bulk_group.L2::cache_hint [map, {c…}], [src], policy;` PTX
/// 8.0, sm_90; `.tile::scatter4`: PTX 8.6, sm_100f, sm_110f.
///
/// ISA: *cp.async.bulk.tensor*. Can break B1, B4, B5, B7, B9, B10, B11.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_to_global`](super::tensor::cp_async_bulk_tensor_to_global); the map is in
///    the mode of `target`.
#[inline(always)]
pub unsafe fn cp_async_bulk_tensor_store<P: Target, H: Hint>(
    map: Addr<Generic>,
    target: P,
    src: Addr<SharedCta>,
    hint: H,
) {
    device! {
        let (at, cached) = (target.coordinates(), hint.bits());
        macro_rules! emit {
            (
                ($dim:literal $mode:literal $text:literal $($c:ident[$i:literal])*)
                ($hint:literal $policy_text:literal $($policy:ident)?)
            ) => {
                asm!(
                    concat!(
                        "cp.async.bulk.tensor", $dim, ".global.shared::cta", $mode, ".bulk_group", $hint, " [{map}, ",
                        $text, "], [{src}]", $policy_text, ";"
                    ),
                    map = in(reg64) map.raw(), src = in(reg32) src.raw(), $($c = in(reg32) at[$i],)*
                    $($policy = in(reg64) cached,)?
                    options(nostack)
                )
            };
        }
        choose!(emit [] target P, hint H)
    }
}

/// `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.op.mode.bulk_group.L2::cache_hint [map, {c…}], [src],
/// policy;` PTX 8.0, sm_90.
///
/// Each element is one relaxed reduction at gpu scope; the map names their type.
///
/// ISA: *cp.reduce.async.bulk.tensor*. Can break A7, B1, B4, B5, B7, B9, B10, B11, D14.
///
/// # Safety
/// 1. As for [`cp_async_bulk_tensor_store`]; the map's element type has this operation.
/// 2. Until completion was observed, others access the destination by reductions only.
#[inline(always)]
pub unsafe fn cp_reduce_async_bulk_tensor<O: Reduction, P: Reducible, H: Hint>(
    map: Addr<Generic>,
    target: P,
    src: Addr<SharedCta>,
    hint: H,
) {
    device! {
        let (at, cached) = (target.coordinates(), hint.bits());
        macro_rules! emit {
            (
                $op:literal ($dim:literal $mode:literal $text:literal $($c:ident[$i:literal])*)
                ($hint:literal $policy_text:literal $($policy:ident)?)
            ) => {
                asm!(
                    concat!(
                        "cp.reduce.async.bulk.tensor", $dim, ".global.shared::cta", $op, $mode, ".bulk_group", $hint,
                        " [{map}, ", $text, "], [{src}]", $policy_text, ";"
                    ),
                    map = in(reg64) map.raw(), src = in(reg32) src.raw(), $($c = in(reg32) at[$i],)*
                    $($policy = in(reg64) cached,)?
                    options(nostack)
                )
            };
        }
        choose!(emit [] operation O, reducible P, hint H)
    }
}

/// `cp.async.bulk.prefetch.tensor.Nd.L2.global.mode.L2::cache_hint [map, {c…}], {o…}, policy;` PTX 8.0, sm_90;
/// `.tile::gather4` and `.im2col::w`: PTX 8.6, sm_100f, sm_110f; `.im2col::w::128`: PTX 8.6, sm_100f, sm_110f.
///
/// Brings what a copy would read near; nothing is written and nothing has to be waited for.
///
/// ISA: *cp.async.bulk.prefetch.tensor*. Can break B4, B5.
///
/// # Safety
/// 1. `map` is as for [`cp_async_bulk_tensor_load`].
#[inline(always)]
pub unsafe fn cp_async_bulk_prefetch_tensor<P: Place, H: Hint>(
    map: Addr<Generic>,
    place: P,
    hint: H,
) {
    device! {
        let (at, offsets, cached) = (place.coordinates(), place.offsets(), hint.bits());
        macro_rules! emit {
            (
                ($dim:literal $mode:literal $text:literal $shift:literal $($c:ident[$i:literal])*; $($o:ident[$j:literal])*)
                ($hint:literal $policy_text:literal $($policy:ident)?)
            ) => {
                asm!(
                    concat!(
                        "cp.async.bulk.prefetch.tensor", $dim, ".L2.global", $mode, $hint, " [{map}, ", $text, "]",
                        $shift, $policy_text, ";"
                    ),
                    map = in(reg64) map.raw(), $($c = in(reg32) at[$i],)* $($o = in(reg16) offsets[$j],)*
                    $($policy = in(reg64) cached,)?
                    options(nostack)
                )
            };
        }
        choose!(emit [] place P, hint H)
    }
}
