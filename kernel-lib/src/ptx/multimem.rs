//! Memory of several devices behind one address.
//!
//! A multimem address names the same offset in the memory of every device of a multicast object. Only the
//! instructions here may use it (A11), so it is a type of its own and no [`Addr`](super::addr::Addr).
//!
//! `ld_reduce` loads from all and returns the reduction, `st` stores to all, `red` reduces into all. Each is
//! one operation on each device's memory: they are not one atomic unit together.
//!
//! ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Left out, for what they would cost every user's compiler
//! next to how rare they are: sums in wider precision (`.acc`), minima and maxima of vectors, vectors other than
//! `.v4` of 32 bits, which move the same bytes as the others; `multimem.cp.async.bulk`.

use super::atom::{Bitwise, Number};
use super::word::{Word, Word32};
use crate::float::{bf16x2, e4m3, e5m2, f16x2};
use crate::scope::Scope;
use crate::sem::{LoadSem, RedSem, StoreSem};

/// The address of memory on several devices at once. Any number makes one; using it is what is unsafe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Multimem(u64);

impl Multimem {
    /// The address with this number, as the host mapped it.
    #[inline(always)]
    pub const fn from_raw(bits: u64) -> Self {
        Multimem(bits)
    }

    /// The number.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The address `bytes` further on.
    #[inline(always)]
    pub const fn offset(self, bytes: u64) -> Self {
        Multimem(self.0.wrapping_add(bytes))
    }
}

/// A type that `multimem` adds.
#[diagnostic::on_unimplemented(
    message = "multimem has no addition of `{Self}`",
    label = "expected `u32`, `i32`, `u64`, `f32`, `f64`, `f16x2` or `bf16x2`"
)]
pub trait MultimemAdd: Word {
    #[doc(hidden)]
    const NUMBER: Number;
}

/// A type of which `multimem` takes minima and maxima.
#[diagnostic::on_unimplemented(
    message = "multimem has no minimum or maximum of `{Self}`",
    label = "expected `u32`, `i32`, `u64` or `i64`"
)]
pub trait MultimemMinMax: Word {
    #[doc(hidden)]
    const NUMBER: Number;
}

/// A type that `multimem` adds in fours.
#[diagnostic::on_unimplemented(
    message = "multimem has no vector of `{Self}`",
    label = "expected `f32`, `f16x2` or `bf16x2`"
)]
pub trait MultimemVector: Word32 {
    #[doc(hidden)]
    const NUMBER: Number;
}

macro_rules! numbers {
    ($class:ident: $($ty:ty => $number:ident),*) => {
        $(impl $class for $ty { const NUMBER: Number = Number::$number; })*
    };
}
numbers!(MultimemAdd: u32 => U32, i32 => S32, u64 => U64, f32 => F32, f64 => F64, f16x2 => F16x2, bf16x2 => Bf16x2);
numbers!(MultimemMinMax: u32 => U32, i32 => S32, u64 => U64, i64 => S64);
numbers!(MultimemVector: f32 => F32, f16x2 => F16x2, bf16x2 => Bf16x2);

/// Calls `$emit!` with the ordering and the scope, and the text of the number's type and its register.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_number {
    ($number:expr, $emit:ident! ($sem:literal $scope:literal) $($name:ident $type:literal $class:ident $ty:ident)*) => {
        match $number {
            $(Number::$name => $emit!($sem $scope $type $class $ty),)*
            // No other type implements the trait.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

macro_rules! reductions {
    ($($(#[$ld_doc:meta])* $ld:ident, $(#[$red_doc:meta])* $red:ident<$class:ident> = $op:literal: $numbers:tt;)*) => {
        $(reductions!(@one [$(#[$ld_doc])*] $ld, [$(#[$red_doc])*] $red $class $op $numbers);)*
    };
    (@one [$(#[$ld_doc:meta])*] $ld:ident, [$(#[$red_doc:meta])*] $red:ident $class:ident $op:literal ($($numbers:tt)*)) => {
        $(#[$ld_doc])*
        ///
        /// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A3 (relaxed), A5, A7, A11.
        ///
        /// # Safety
        /// 1. `addr` is a multimem address, aligned to the size of `T`, of live and initialised memory.
        /// 2. Every access to that memory that may happen at the same time is strong, of the same size, and
        ///    its scope and `S` include each other's thread.
        #[inline(always)]
        pub unsafe fn $ld<M: LoadSem, S: Scope, T: $class>(addr: Multimem) -> T {
            device! {
                macro_rules! typed {
                    ($sem:literal $scope:literal $type:literal $reg:ident $ty:ident) => {{
                        let value: $ty;
                        asm!(
                            concat!("multimem.ld_reduce", $sem, $scope, ".global", $op, $type, " {}, [{}];"),
                            out($reg) value, in(reg64) addr.raw(), options(nostack)
                        );
                        T::from_word(value as u64)
                    }};
                }
                macro_rules! emit {
                    ($sem:literal $scope:literal) => { by_number!(T::NUMBER, typed! ($sem $scope) $($numbers)*) };
                }
                select!(emit [] load_sem M, scope S)
            }
        }

        $(#[$red_doc])*
        ///
        /// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A2, A4 (relaxed), A5, A7, A11.
        ///
        /// # Safety
        /// As for the `ld_reduce` of the same operation; the memory may be written.
        #[inline(always)]
        pub unsafe fn $red<M: RedSem, S: Scope, T: $class>(addr: Multimem, value: T) {
            device! {
                macro_rules! typed {
                    ($sem:literal $scope:literal $type:literal $reg:ident $ty:ident) => {
                        asm!(
                            concat!("multimem.red", $sem, $scope, ".global", $op, $type, " [{}], {};"),
                            in(reg64) addr.raw(), in($reg) value.to_word() as $ty, options(nostack)
                        )
                    };
                }
                macro_rules! emit {
                    ($sem:literal $scope:literal) => { by_number!(T::NUMBER, typed! ($sem $scope) $($numbers)*) };
                }
                select!(emit [] store_sem M, scope S)
            }
        }
    };
}

reductions! {
    /// `multimem.ld_reduce.sem.scope.global.add.type d, [a];` PTX 8.1, sm_90.
    ld_reduce_add,
    /// `multimem.red.sem.scope.global.add.type [a], v;` PTX 8.1, sm_90.
    red_add<MultimemAdd> = ".add": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32 U64 ".u64" reg64 u64
        F32 ".f32" reg32 u32 F64 ".f64" reg64 u64 F16x2 ".f16x2" reg32 u32 Bf16x2 ".bf16x2" reg32 u32);
    /// `multimem.ld_reduce.sem.scope.global.min.type d, [a];` PTX 8.1, sm_90.
    ld_reduce_min,
    /// `multimem.red.sem.scope.global.min.type [a], v;` PTX 8.1, sm_90.
    red_min<MultimemMinMax> = ".min": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32 U64 ".u64" reg64 u64 S64 ".s64" reg64 u64);
    /// `multimem.ld_reduce.sem.scope.global.max.type d, [a];` PTX 8.1, sm_90.
    ld_reduce_max,
    /// `multimem.red.sem.scope.global.max.type [a], v;` PTX 8.1, sm_90.
    red_max<MultimemMinMax> = ".max": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32 U64 ".u64" reg64 u64 S64 ".s64" reg64 u64);
}

macro_rules! bit_reductions {
    ($($(#[$ld_doc:meta])* $ld:ident, $(#[$red_doc:meta])* $red:ident = $op:literal;)*) => {$(
        $(#[$ld_doc])*
        ///
        /// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A3 (relaxed), A5, A7, A11.
        ///
        /// # Safety
        /// As for [`ld_reduce_add`].
        #[inline(always)]
        pub unsafe fn $ld<M: LoadSem, S: Scope, T: Bitwise>(addr: Multimem) -> T {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal ($type:literal $reg:ident $ty:ident)) => {{
                        let value: $ty;
                        asm!(
                            concat!("multimem.ld_reduce", $sem, $scope, ".global", $op, $type, " {}, [{}];"),
                            out($reg) value, in(reg64) addr.raw(), options(nostack)
                        );
                        T::from_word(value as u64)
                    }};
                }
                select!(emit [] load_sem M, scope S, bits_32_64 T)
            }
        }

        $(#[$red_doc])*
        ///
        /// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A2, A4 (relaxed), A5, A7, A11.
        ///
        /// # Safety
        /// As for [`red_add`].
        #[inline(always)]
        pub unsafe fn $red<M: RedSem, S: Scope, T: Bitwise>(addr: Multimem, value: T) {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal ($type:literal $reg:ident $ty:ident)) => {
                        asm!(
                            concat!("multimem.red", $sem, $scope, ".global", $op, $type, " [{}], {};"),
                            in(reg64) addr.raw(), in($reg) value.to_word() as $ty, options(nostack)
                        )
                    };
                }
                select!(emit [] store_sem M, scope S, bits_32_64 T)
            }
        }
    )*};
}

bit_reductions! {
    /// `multimem.ld_reduce.sem.scope.global.and.bN d, [a];` PTX 8.1, sm_90.
    ld_reduce_and,
    /// `multimem.red.sem.scope.global.and.bN [a], v;` PTX 8.1, sm_90.
    red_and = ".and";
    /// `multimem.ld_reduce.sem.scope.global.or.bN d, [a];` PTX 8.1, sm_90.
    ld_reduce_or,
    /// `multimem.red.sem.scope.global.or.bN [a], v;` PTX 8.1, sm_90.
    red_or = ".or";
    /// `multimem.ld_reduce.sem.scope.global.xor.bN d, [a];` PTX 8.1, sm_90.
    ld_reduce_xor,
    /// `multimem.red.sem.scope.global.xor.bN [a], v;` PTX 8.1, sm_90.
    red_xor = ".xor";
}

/// `multimem.st.sem.scope.global.bN [a], v;` PTX 8.1, sm_90.
///
/// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A4 (relaxed), A5, A7, A11.
///
/// # Safety
/// As for [`red_add`].
#[inline(always)]
pub unsafe fn st<M: StoreSem, S: Scope, T: Bitwise>(addr: Multimem, value: T) {
    device! {
        macro_rules! emit {
            ($sem:literal $scope:literal ($type:literal $reg:ident $ty:ident)) => {
                asm!(
                    concat!("multimem.st", $sem, $scope, ".global", $type, " [{}], {};"),
                    in(reg64) addr.raw(), in($reg) value.to_word() as $ty, options(nostack)
                )
            };
        }
        select!(emit [] store_sem M, scope S, bits_32_64 T)
    }
}

macro_rules! weak_loads {
    ($($(#[$doc:meta])* $ld:ident<$class:ident> = $op:literal: $numbers:tt;)*) => {
        $(weak_loads!(@one [$(#[$doc])*] $ld $class $op $numbers);)*
    };
    (@one [$(#[$doc:meta])*] $ld:ident $class:ident $op:literal ($($name:ident $type:literal $reg:ident $ty:ident)*)) => {
        $(#[$doc])*
        ///
        /// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A1, A9, A11.
        ///
        /// # Safety
        /// 1. As (1) of [`ld_reduce_add`].
        /// 2. Nobody writes that memory at the same time, on any device.
        #[inline(always)]
        pub unsafe fn $ld<T: $class>(addr: Multimem) -> T {
            device! {
                match T::NUMBER {
                    $(Number::$name => {
                        let value: $ty;
                        asm!(
                            concat!("multimem.ld_reduce.weak.global", $op, $type, " {}, [{}];"),
                            out($reg) value, in(reg64) addr.raw(), options(nostack)
                        );
                        T::from_word(value as u64)
                    })*
                    // No other type implements the trait.
                    _ => core::hint::unreachable_unchecked(),
                }
            }
        }
    };
}

weak_loads! {
    /// `multimem.ld_reduce.weak.global.add.type d, [a];` PTX 8.1, sm_90.
    ld_reduce_add_weak<MultimemAdd> = ".add": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32 U64 ".u64" reg64 u64
        F32 ".f32" reg32 u32 F64 ".f64" reg64 u64 F16x2 ".f16x2" reg32 u32 Bf16x2 ".bf16x2" reg32 u32);
    /// `multimem.ld_reduce.weak.global.min.type d, [a];` PTX 8.1, sm_90.
    ld_reduce_min_weak<MultimemMinMax> = ".min": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32 U64 ".u64" reg64 u64 S64 ".s64" reg64 u64);
    /// `multimem.ld_reduce.weak.global.max.type d, [a];` PTX 8.1, sm_90.
    ld_reduce_max_weak<MultimemMinMax> = ".max": (U32 ".u32" reg32 u32 S32 ".s32" reg32 u32 U64 ".u64" reg64 u64 S64 ".s64" reg64 u64);
}

macro_rules! weak_bit_loads {
    ($($(#[$doc:meta])* $ld:ident = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A1, A9, A11.
        ///
        /// # Safety
        /// As for [`ld_reduce_add_weak`].
        #[inline(always)]
        pub unsafe fn $ld<T: Bitwise>(addr: Multimem) -> T {
            device! {
                macro_rules! emit {
                    (($type:literal $reg:ident $ty:ident)) => {{
                        let value: $ty;
                        asm!(
                            concat!("multimem.ld_reduce.weak.global", $op, $type, " {}, [{}];"),
                            out($reg) value, in(reg64) addr.raw(), options(nostack)
                        );
                        T::from_word(value as u64)
                    }};
                }
                select!(emit [] bits_32_64 T)
            }
        }
    )*};
}

weak_bit_loads! {
    /// `multimem.ld_reduce.weak.global.and.bN d, [a];` PTX 8.1, sm_90.
    ld_reduce_and_weak = ".and";
    /// `multimem.ld_reduce.weak.global.or.bN d, [a];` PTX 8.1, sm_90.
    ld_reduce_or_weak = ".or";
    /// `multimem.ld_reduce.weak.global.xor.bN d, [a];` PTX 8.1, sm_90.
    ld_reduce_xor_weak = ".xor";
}

/// `multimem.st.weak.global.bN [a], v;` PTX 8.1, sm_90.
///
/// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A9, A11, A13.
///
/// # Safety
/// 1. As (1) of [`ld_reduce_add`]; the memory may be written.
/// 2. Nobody else accesses that memory at the same time, on any device.
#[inline(always)]
pub unsafe fn st_weak<T: Bitwise>(addr: Multimem, value: T) {
    device! {
        macro_rules! emit {
            (($type:literal $reg:ident $ty:ident)) => {
                asm!(
                    concat!("multimem.st.weak.global", $type, " [{}], {};"),
                    in(reg64) addr.raw(), in($reg) value.to_word() as $ty, options(nostack)
                )
            };
        }
        select!(emit [] bits_32_64 T)
    }
}

/// Four 8-bit floats of one format: an element of [`ld_reduce_add_float8`].
#[diagnostic::on_unimplemented(
    message = "multimem has no vector of 8-bit floats of `{Self}`",
    label = "expected `e4m3` or `e5m2`"
)]
pub trait Float8: Word {
    #[doc(hidden)]
    const IS_E5M2: bool;
}
impl Float8 for e4m3 {
    const IS_E5M2: bool = false;
}
impl Float8 for e5m2 {
    const IS_E5M2: bool = true;
}

/// `multimem.ld_reduce.sem.scope.global.add.type d, [a];` PTX 8.6, sm_100.
///
/// Four sums of 8-bit floats, as the bytes of a word.
///
/// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A3 (relaxed), A5, A7, A11, A12.
///
/// # Safety
/// As for [`ld_reduce_add`]; `addr` is aligned to 4 bytes.
#[inline(always)]
pub unsafe fn ld_reduce_add_float8<M: LoadSem, S: Scope, T: Float8>(addr: Multimem) -> u32 {
    device! {
        let value: u32;
        macro_rules! emit {
            ($sem:literal $scope:literal) => {
                match const { T::IS_E5M2 } {
                    false => emit_as!($sem $scope ".e4m3x4"),
                    true => emit_as!($sem $scope ".e5m2x4"),
                }
            };
        }
        macro_rules! emit_as {
            ($sem:literal $scope:literal $type:literal) => {
                asm!(
                    concat!("multimem.ld_reduce", $sem, $scope, ".global.add", $type, " {}, [{}];"),
                    out(reg32) value, in(reg64) addr.raw(), options(nostack)
                )
            };
        }
        select!(emit [] load_sem M, scope S);
        value
    }
}

/// `multimem.st.sem.scope.global.v4.type [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
///
/// Four stores, not one.
///
/// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A4 (relaxed), A5, A7, A11, A12.
///
/// # Safety
/// As for [`red_add`]; `addr` is aligned to 16 bytes.
#[inline(always)]
pub unsafe fn st_v4<M: StoreSem, S: Scope, T: MultimemVector>(addr: Multimem, values: [T; 4]) {
    device! {
        let [a, b, c, d] = values.map(|value| value.to_word() as u32);
        macro_rules! typed {
            ($sem:literal $scope:literal $type:literal $reg:ident $ty:ident) => {
                asm!(
                    concat!("multimem.st", $sem, $scope, ".global.v4", $type, " [{}], {{{}, {}, {}, {}}};"),
                    in(reg64) addr.raw(), in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                    options(nostack)
                )
            };
        }
        macro_rules! emit {
            ($sem:literal $scope:literal) => {
                by_number!(T::NUMBER, typed! ($sem $scope) F32 ".f32" reg32 u32 F16x2 ".f16x2" reg32 u32 Bf16x2 ".bf16x2" reg32 u32)
            };
        }
        select!(emit [] store_sem M, scope S)
    }
}

/// `multimem.ld_reduce.sem.scope.global.add.v4.type {d0, d1, d2, d3}, [a];` PTX 8.1, sm_90.
///
/// Four loads, not one.
///
/// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A3 (relaxed), A5, A7, A11, A12.
///
/// # Safety
/// As for [`ld_reduce_add`]; `addr` is aligned to 16 bytes.
#[inline(always)]
pub unsafe fn ld_reduce_add_v4<M: LoadSem, S: Scope, T: MultimemVector>(addr: Multimem) -> [T; 4] {
    device! {
        let (a, b, c, d): (u32, u32, u32, u32);
        macro_rules! typed {
            ($sem:literal $scope:literal $type:literal $reg:ident $ty:ident) => {
                asm!(
                    concat!("multimem.ld_reduce", $sem, $scope, ".global.add.v4", $type, " {{{}, {}, {}, {}}}, [{}];"),
                    out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) addr.raw(),
                    options(nostack)
                )
            };
        }
        macro_rules! emit {
            ($sem:literal $scope:literal) => {
                by_number!(T::NUMBER, typed! ($sem $scope) F32 ".f32" reg32 u32 F16x2 ".f16x2" reg32 u32 Bf16x2 ".bf16x2" reg32 u32)
            };
        }
        select!(emit [] load_sem M, scope S);
        [a, b, c, d].map(|bits| T::from_word(bits as u64))
    }
}

/// `multimem.red.sem.scope.global.add.v4.type [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
///
/// Four reductions, not one.
///
/// ISA: *multimem.ld_reduce, multimem.st, multimem.red*. Can break A2, A4 (relaxed), A5, A7, A11, A12.
///
/// # Safety
/// As for [`red_add`]; `addr` is aligned to 16 bytes.
#[inline(always)]
pub unsafe fn red_add_v4<M: RedSem, S: Scope, T: MultimemVector>(addr: Multimem, values: [T; 4]) {
    device! {
        let [a, b, c, d] = values.map(|value| value.to_word() as u32);
        macro_rules! typed {
            ($sem:literal $scope:literal $type:literal $reg:ident $ty:ident) => {
                asm!(
                    concat!("multimem.red", $sem, $scope, ".global.add.v4", $type, " [{}], {{{}, {}, {}, {}}};"),
                    in(reg64) addr.raw(), in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                    options(nostack)
                )
            };
        }
        macro_rules! emit {
            ($sem:literal $scope:literal) => {
                by_number!(T::NUMBER, typed! ($sem $scope) F32 ".f32" reg32 u32 F16x2 ".f16x2" reg32 u32 Bf16x2 ".bf16x2" reg32 u32)
            };
        }
        select!(emit [] store_sem M, scope S)
    }
}
