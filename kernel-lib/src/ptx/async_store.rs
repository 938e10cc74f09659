//! Stores and reductions into a peer's shared memory, completed on its mbarrier; and releasing ones to
//! global memory that need no answer.
//!
//! `st.async` and `red.async` complete their bytes on the mbarrier given, which is in the same CTA as the
//! destination; the values are visible to whoever observed that phase.
//!
//! ISA: *st.async*, *red.async*.

use super::addr::{Addr, Global, SharedCluster};
use super::atom::{Compare, Number};
use super::word::{Word, Word32};
use crate::float::{bf16x2, f16x2};

mod sealed {
    pub trait Sealed {}
}

/// A word of 32 or 64 bits.
#[diagnostic::on_unimplemented(
    message = "st.async does not store `{Self}`",
    label = "expected a word of 32 or 64 bits"
)]
pub trait Stored: Word + sealed::Sealed {}

macro_rules! stored {
    ($($ty:ident)*) => { $(impl sealed::Sealed for $ty {} impl Stored for $ty {})* };
}
stored!(u32 i32 f32 bf16x2 f16x2 u64 i64 f64);

/// `st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.bN [dst], v, [bar];` PTX 8.1, sm_90.
///
/// ISA: *st.async*. Can break B6, B9, C8, F3.
///
/// # Safety
/// 1. `dst` is aligned to the size of `T`, in the shared memory of a CTA that has started and does not exit
///    before completion.
/// 2. Nobody else accesses the destination until the phase of `bar` that these bytes complete has been
///    observed.
/// 3. A live mbarrier is at `bar`, in the CTA of `dst`; its current phase expects these bytes.
#[inline(always)]
pub unsafe fn st_async<T: Stored>(dst: Addr<SharedCluster>, value: T, bar: Addr<SharedCluster>) {
    device! {
        macro_rules! emit {
            (($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes", $width, " [{}], {}, [{}];"),
                    in(reg32) dst.raw(), in($class) value.to_word() as $ty, in(reg32) bar.raw(),
                    options(nostack)
                )
            };
        }
        select!(emit [] bits_32_64 T)
    }
}

/// `st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [dst], {v0, v1, v2, v3}, [bar];` PTX
/// 8.1, sm_90.
///
/// ISA: *st.async*. Can break A12, B6, B9, C8, F3.
///
/// # Safety
/// 1. `dst` is aligned to 16 bytes; otherwise as for [`st_async`].
#[inline(always)]
pub unsafe fn st_async_v4<T: Word32>(
    dst: Addr<SharedCluster>,
    values: [T; 4],
    bar: Addr<SharedCluster>,
) {
    device! {
        let [a, b, c, d] = values.map(|value| value.to_word() as u32);
        asm!(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [{}], {{{}, {}, {}, {}}}, [{}];",
            in(reg32) dst.raw(), in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
            in(reg32) bar.raw(), options(nostack)
        )
    }
}

/// `st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.bN [dst], {v0, v1}, [bar];` PTX 8.1,
/// sm_90.
///
/// ISA: *st.async*. Can break A12, B6, B9, C8, F3.
///
/// # Safety
/// 1. `dst` is aligned to both elements; otherwise as for [`st_async`].
#[inline(always)]
pub unsafe fn st_async_v2<T: Stored>(
    dst: Addr<SharedCluster>,
    values: [T; 2],
    bar: Addr<SharedCluster>,
) {
    device! {
        let [a, b] = values.map(T::to_word);
        macro_rules! emit {
            (($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2", $width, " [{}], {{{}, {}}}, [{}];"),
                    in(reg32) dst.raw(), in($class) a as $ty, in($class) b as $ty, in(reg32) bar.raw(),
                    options(nostack)
                )
            };
        }
        select!(emit [] bits_32_64 T)
    }
}

/// `st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b128 [dst], v, [bar];` PTX 9.2, sm_90.
///
/// ISA: *st.async*. Can break B6, B9, C8, F3.
///
/// # Safety
/// 1. `dst` is aligned to 16 bytes; otherwise as for [`st_async`].
#[inline(always)]
pub unsafe fn st_async_b128(dst: Addr<SharedCluster>, value: u128, bar: Addr<SharedCluster>) {
    device! {
        asm!(
            "{{",
            ".reg .b128 value;",
            "mov.b128 value, {{{}, {}}};",
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b128 [{}], value, [{}];",
            "}}",
            in(reg64) value as u64, in(reg64) (value >> 64) as u64, in(reg32) dst.raw(), in(reg32) bar.raw(),
            options(nostack)
        )
    }
}

/// `st.async.mmio.release.sys.global.bN [dst], v;` PTX 8.7, sm_100.
///
/// Publishes what this thread did before, to the whole system, without waiting for it. A plainly named
/// access to a device's registers, not a way to synchronise (A6).
///
/// ISA: *st.async*. Can break A6.
///
/// # Safety
/// 1. `dst` is aligned to the size of `T`, inside a live, writable object.
/// 2. Every access that may happen at the same time is strong, of the same size and at system scope.
#[inline(always)]
pub unsafe fn st_async_mmio_release_sys<T: Compare>(dst: Addr<Global>, value: T) {
    device! {
        macro_rules! emit {
            (($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st.async.mmio.release.sys.global", $width, " [{}], {};"),
                    in(reg64) dst.raw(), in($class) value.to_word() as $ty, options(nostack)
                )
            };
        }
        select!(emit [] bits_16_32_64 T)
    }
}

/// A type that `red.async.add` has.
#[diagnostic::on_unimplemented(
    message = "PTX has no asynchronous addition of `{Self}`",
    label = "expected `u32`, `i32`, `u64` or `i64`"
)]
pub trait RemoteAdd: Stored {
    #[doc(hidden)]
    const NUMBER: Number;
}

/// A type that `red.async.min` and `red.async.max` have.
#[diagnostic::on_unimplemented(
    message = "PTX has no asynchronous minimum or maximum of `{Self}`",
    label = "expected `u32` or `i32`"
)]
pub trait RemoteMinMax: Stored {
    #[doc(hidden)]
    const NUMBER: Number;
}

macro_rules! numbers {
    ($class:ident: $($ty:ty => $number:ident),*) => {
        $(impl $class for $ty { const NUMBER: Number = Number::$number; })*
    };
}
numbers!(RemoteAdd: u32 => U32, i32 => S32, u64 => U64, i64 => S64);
numbers!(RemoteMinMax: u32 => U32, i32 => S32);

/// Both kinds of one reduction: in a peer's shared memory, and of a device's registers.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident, $(#[$mmio_doc:meta])* $mmio:ident<$class:ident> = $op:literal: $numbers:tt;)*) => {
        $(reductions!(@one [$(#[$doc])*] $name, [$(#[$mmio_doc])*] $mmio $class $op $numbers);)*
    };
    (@one [$(#[$doc:meta])*] $name:ident, [$(#[$mmio_doc:meta])*] $mmio:ident $class:ident $op:literal
        ($($number:ident $type:literal $reg:ident $bits:ident)*)) => {
        $(#[$doc])*
        ///
        /// ISA: *red.async*. Can break A7, B6, B9, C8, F3.
        ///
        /// # Safety
        /// 1. As (1) and (3) of [`st_async`].
        /// 2. Until the phase of `bar` that these bytes complete has been observed, the destination is
        ///    accessed by such reductions only.
        #[inline(always)]
        pub unsafe fn $name<T: $class>(dst: Addr<SharedCluster>, value: T, bar: Addr<SharedCluster>) {
            device! {
                match T::NUMBER {
                    $(Number::$number => asm!(
                        concat!(
                            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes", $op, $type,
                            " [{}], {}, [{}];"
                        ),
                        in(reg32) dst.raw(), in($reg) value.to_word() as $bits, in(reg32) bar.raw(),
                        options(nostack)
                    ),)*
                    // No other type implements the trait.
                    _ => core::hint::unreachable_unchecked(),
                }
            }
        }

        $(#[$mmio_doc])*
        ///
        /// ISA: *red.async*. Can break A6, A7.
        ///
        /// # Safety
        /// As for [`st_async_mmio_release_sys`].
        #[inline(always)]
        pub unsafe fn $mmio<T: $class>(dst: Addr<Global>, value: T) {
            device! {
                match T::NUMBER {
                    $(Number::$number => asm!(
                        concat!("red.async.mmio.release.sys.global", $op, $type, " [{}], {};"),
                        in(reg64) dst.raw(), in($reg) value.to_word() as $bits, options(nostack)
                    ),)*
                    // No other type implements the trait.
                    _ => core::hint::unreachable_unchecked(),
                }
            }
        }
    };
}

reductions! {
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.type [dst], v, [bar];`
    /// PTX 8.1, sm_90.
    red_async_add,
    /// `red.async.mmio.release.sys.global.add.type [dst], v;` PTX 8.7, sm_100.
    red_async_add_mmio_release_sys<RemoteAdd> = ".add": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32 U64 ".u64" reg64 u64 S64 ".s64" reg64 u64);
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.type [dst], v, [bar];`
    /// PTX 8.1, sm_90.
    red_async_min,
    /// `red.async.mmio.release.sys.global.min.type [dst], v;` PTX 8.7, sm_100.
    red_async_min_mmio_release_sys<RemoteMinMax> = ".min": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32);
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.type [dst], v, [bar];`
    /// PTX 8.1, sm_90.
    red_async_max,
    /// `red.async.mmio.release.sys.global.max.type [dst], v;` PTX 8.7, sm_100.
    red_async_max_mmio_release_sys<RemoteMinMax> = ".max": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32);
}

macro_rules! word_reductions {
    ($($(#[$doc:meta])* $name:ident, $(#[$mmio_doc:meta])* $mmio:ident($arg:ident) = $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *red.async*. Can break A7, B6, B9, C8, F3.
        ///
        /// # Safety
        /// As for [`red_async_add`].
        #[inline(always)]
        pub unsafe fn $name(dst: Addr<SharedCluster>, $arg: u32, bar: Addr<SharedCluster>) {
            device! {
                asm!(
                    concat!(
                        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes", $text,
                        " [{}], {}, [{}];"
                    ),
                    in(reg32) dst.raw(), in(reg32) $arg, in(reg32) bar.raw(), options(nostack)
                )
            }
        }

        $(#[$mmio_doc])*
        ///
        /// ISA: *red.async*. Can break A6, A7.
        ///
        /// # Safety
        /// As for [`st_async_mmio_release_sys`].
        #[inline(always)]
        pub unsafe fn $mmio(dst: Addr<Global>, $arg: u32) {
            device! {
                asm!(
                    concat!("red.async.mmio.release.sys.global", $text, " [{}], {};"),
                    in(reg64) dst.raw(), in(reg32) $arg, options(nostack)
                )
            }
        }
    )*};
}

word_reductions! {
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [dst], bound, [bar];`
    /// PTX 8.1, sm_90.
    red_async_inc,
    /// `red.async.mmio.release.sys.global.inc.u32 [dst], bound;` PTX 8.7, sm_100.
    red_async_inc_mmio_release_sys(bound) = ".inc.u32";
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.dec.u32 [dst], bound, [bar];`
    /// PTX 8.1, sm_90.
    red_async_dec,
    /// `red.async.mmio.release.sys.global.dec.u32 [dst], bound;` PTX 8.7, sm_100.
    red_async_dec_mmio_release_sys(bound) = ".dec.u32";
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b32 [dst], v, [bar];`
    /// PTX 8.1, sm_90.
    red_async_and,
    /// `red.async.mmio.release.sys.global.and.b32 [dst], v;` PTX 8.7, sm_100.
    red_async_and_mmio_release_sys(value) = ".and.b32";
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32 [dst], v, [bar];`
    /// PTX 8.1, sm_90.
    red_async_or,
    /// `red.async.mmio.release.sys.global.or.b32 [dst], v;` PTX 8.7, sm_100.
    red_async_or_mmio_release_sys(value) = ".or.b32";
    /// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [dst], v, [bar];`
    /// PTX 8.1, sm_90.
    red_async_xor,
    /// `red.async.mmio.release.sys.global.xor.b32 [dst], v;` PTX 8.7, sm_100.
    red_async_xor_mmio_release_sys(value) = ".xor.b32";
}
