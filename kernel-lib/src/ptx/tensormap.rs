//! Editing tensor maps in memory.
//!
//! A kernel changes single fields of a map (128 bytes, in global memory or, to be copied later, in shared
//! memory), then makes the change visible to copies: by `fence.proxy.tensormap::generic` (release here,
//! acquire where it is used), or by [`cp_fenceproxy`], which copies and releases at once. No copy that uses
//! the map may be in flight (B5).
//!
//! ISA: *tensormap.replace*, *tensormap.cp_fenceproxy*.

use super::addr::{Addr, Global, SharedCta, Space};
use crate::scope::Scope;

/// Where a tensor map can be edited: `Global` or `SharedCta`.
#[diagnostic::on_unimplemented(
    message = "a tensor map in `{Self}` cannot be edited",
    label = "expected `Global` or `SharedCta`"
)]
pub trait Home: Space {
    #[doc(hidden)]
    const SHARED: bool;
}
impl Home for Global {
    const SHARED: bool = false;
}
impl Home for SharedCta {
    const SHARED: bool = true;
}

macro_rules! replaces {
    ($($(#[$doc:meta])* $name:ident$(<$n:ident>)?($($value:ident: $ty:ident as $class:ident)?) = $field:literal $bits:literal $tail:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *tensormap.replace*. Can break B4, B5, D14.
        ///
        /// # Safety
        /// 1. A tensor map of 128 bytes is at `map`, aligned to 128 bytes; no copy that uses it is in flight, and
        ///    nobody else accesses it at the same time.
        /// 2. With the new value the map will be legal when it is used.
        #[inline(always)]
        pub unsafe fn $name<Sp: Home $(, const $n: u32)?>(map: Addr<Sp> $(, $value: $ty)?) {
            device! {
                if Sp::SHARED {
                    asm!(
                        concat!("tensormap.replace.tile.", $field, ".shared::cta.b1024", $bits, " [{map}]", $tail, ";"),
                        map = in(reg32) map.widened() as u32, $($n = const $n,)? $($value = in($class) $value,)?
                        options(nostack)
                    )
                } else {
                    asm!(
                        concat!("tensormap.replace.tile.", $field, ".global.b1024", $bits, " [{map}]", $tail, ";"),
                        map = in(reg64) map.widened(), $($n = const $n,)? $($value = in($class) $value,)?
                        options(nostack)
                    )
                }
            }
        }
    )*};
}

replaces! {
    /// `tensormap.replace.tile.global_address.space.b1024.b64 [map], address;` PTX 8.3, sm_90.
    replace_global_address(value: u64 as reg64) = "global_address" ".b64" ", {value}";
    /// `tensormap.replace.tile.rank.space.b1024.b32 [map], rank;` PTX 8.3, sm_90.
    ///
    /// The value is the rank less one.
    replace_rank(value: u32 as reg32) = "rank" ".b32" ", {value}";
    /// `tensormap.replace.tile.box_dim.space.b1024.b32 [map], ORD, size;` PTX 8.3, sm_90.
    replace_box_dim<ORD>(value: u32 as reg32) = "box_dim" ".b32" ", {ORD}, {value}";
    /// `tensormap.replace.tile.global_dim.space.b1024.b32 [map], ORD, size;` PTX 8.3, sm_90.
    replace_global_dim<ORD>(value: u32 as reg32) = "global_dim" ".b32" ", {ORD}, {value}";
    /// `tensormap.replace.tile.global_stride.space.b1024.b64 [map], ORD, bytes;` PTX 8.3, sm_90.
    replace_global_stride<ORD>(value: u64 as reg64) = "global_stride" ".b64" ", {ORD}, {value}";
    /// `tensormap.replace.tile.element_stride.space.b1024.b32 [map], ORD, n;` PTX 8.3, sm_90.
    replace_element_stride<ORD>(value: u32 as reg32) = "element_stride" ".b32" ", {ORD}, {value}";
    /// `tensormap.replace.tile.elemtype.space.b1024.b32 [map], VALUE;` PTX 8.3, sm_90.
    replace_elemtype<VALUE>() = "elemtype" ".b32" ", {VALUE}";
    /// `tensormap.replace.tile.interleave_layout.space.b1024.b32 [map], VALUE;` PTX 8.3, sm_90.
    replace_interleave_layout<VALUE>() = "interleave_layout" ".b32" ", {VALUE}";
    /// `tensormap.replace.tile.swizzle_mode.space.b1024.b32 [map], VALUE;` PTX 8.3, sm_90.
    replace_swizzle_mode<VALUE>() = "swizzle_mode" ".b32" ", {VALUE}";
    /// `tensormap.replace.tile.fill_mode.space.b1024.b32 [map], VALUE;` PTX 8.3, sm_90.
    replace_fill_mode<VALUE>() = "fill_mode" ".b32" ", {VALUE}";
    /// `tensormap.replace.tile.swizzle_atomicity.space.b1024.b32 [map], VALUE;` PTX 8.6, sm_100.
    replace_swizzle_atomicity<VALUE>() = "swizzle_atomicity" ".b32" ", {VALUE}";
}

/// `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src],
/// 128;` PTX 8.3, sm_90.
///
/// Copies a map that was edited in shared memory to global memory and releases it towards the tensor-map
/// proxy.
///
/// ISA: *tensormap.cp_fenceproxy*. Can break B4, B5, F1.
///
/// # Safety
/// 1. A whole converged warp executes it, with the same operands.
/// 2. Both addresses are aligned to 128 bytes; a legal map is at `src`, and no copy that uses the one at
///    `dst` is in flight.
#[inline(always)]
pub unsafe fn cp_fenceproxy<S: Scope>(dst: Addr<Global>, src: Addr<SharedCta>) {
    device! {
        super::anchor();
        macro_rules! emit {
            ($scope:literal) => {
                asm!(
                    "//@baton collective tensormap.cp_fenceproxy",
                    concat!(
                        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release", $scope,
                        ".sync.aligned [{}], [{}], 128;"
                    ),
                    in(reg64) dst.raw(), in(reg32) src.raw(), options(nostack)
                )
            };
        }
        select!(emit [] scope S)
    }
}
