//! Values that one register holds.
//!
//! Loads, stores and shuffles move bits and do not care what they mean; the instructions are emitted
//! with `.bN` types. [`Word`] is the conversion between a Rust scalar and those bits. It is sealed:
//! the element of an instruction is a plain number, never a type with invariants.

use crate::float::{bf16, bf16x2, e4m3, e5m2, f16, f16x2};

mod sealed {
    pub trait Sealed {}
}

/// A scalar of 8, 16, 32 or 64 bits, every bit pattern of which is a value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one register's worth of plain bits",
    label = "expected an integer, a float, `bf16`, `f16` or a packed pair of those",
    note = "vector forms take element-wise types, and no vector access is one atomic unit (rule A12)"
)]
pub trait Word: sealed::Sealed + Copy + 'static {
    /// The size, which is also the alignment that an access needs.
    const BYTES: usize;
    #[doc(hidden)]
    fn to_word(self) -> u64;
    #[doc(hidden)]
    fn from_word(bits: u64) -> Self;
}

/// A [`Word`] of 32 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a 32-bit word",
    label = "this instruction moves 32-bit registers: `u32`, `i32`, `f32`, `bf16x2`, `f16x2`"
)]
pub trait Word32: Word {}

macro_rules! words {
    ($($ty:ty: $bits:ident, $to:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Word for $ty {
            const BYTES: usize = size_of::<$ty>();
            #[inline(always)]
            fn to_word(self) -> u64 {
                let to: fn($ty) -> $bits = $to;
                u64::from(to(self))
            }
            #[inline(always)]
            fn from_word(bits: u64) -> $ty {
                let from: fn($bits) -> $ty = $from;
                from(bits as $bits)
            }
        }
    )*};
}

words! {
    u8: u8, |v| v, |b| b;
    i8: u8, |v| v as u8, |b| b as i8;
    e4m3: u8, e4m3::to_bits, e4m3::from_bits;
    e5m2: u8, e5m2::to_bits, e5m2::from_bits;
    u16: u16, |v| v, |b| b;
    i16: u16, |v| v as u16, |b| b as i16;
    u32: u32, |v| v, |b| b;
    i32: u32, |v| v as u32, |b| b as i32;
    u64: u64, |v| v, |b| b;
    i64: u64, |v| v as u64, |b| b as i64;
    f32: u32, f32::to_bits, f32::from_bits;
    f64: u64, f64::to_bits, f64::from_bits;
    bf16: u16, bf16::to_bits, bf16::from_bits;
    f16: u16, f16::to_bits, f16::from_bits;
    bf16x2: u32, bf16x2::to_bits, bf16x2::from_bits;
    f16x2: u32, f16x2::to_bits, f16x2::from_bits;
}

impl Word32 for u32 {}
impl Word32 for i32 {}
impl Word32 for f32 {}
impl Word32 for bf16x2 {}
impl Word32 for f16x2 {}
