//! The 16-bit floats, and packed pairs of them; the 8-bit floats, as bits.
//!
//! [`bf16`] is the upper half of an f32; [`f16`](struct@f16) is IEEE binary16. Both are storage formats here: they
//! convert, and arithmetic is done in f32. Conversion from f32 rounds to nearest, ties to even; every
//! NaN becomes the canonical one (`0x7fff`), as the device's `cvt` does, so that host and device give
//! the same bits. Conversion to f32 is exact.
//!
//! A pair holds its first element in the low half, as it lies in memory.
//!
//! ISA: *cvt*.

// The names of the formats, as in the ISA and in every other library.
#![allow(non_camel_case_types)]

macro_rules! half {
    ($(#[$doc:meta])* $name:ident, $pair:ident, $(#[$pair_doc:meta])* $text:literal, $narrow:path, $widen:path) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u16);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);

            /// The value with these bits.
            #[inline(always)]
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }

            /// The bits.
            #[inline(always)]
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            #[doc = concat!("The nearest value, ties to even; NaN becomes `0x7fff`. On the device `cvt.rn.", $text, ".f32`.")]
            #[inline(always)]
            pub fn from_f32(value: f32) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let bits: u16;
                    // SAFETY: arithmetic on registers.
                    unsafe {
                        core::arch::asm!(
                            concat!("cvt.rn.", $text, ".f32 {}, {};"),
                            out(reg16) bits, in(reg32) value, options(pure, nomem, nostack)
                        );
                    }
                    Self(bits)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    Self($narrow(value))
                }
            }

            /// The same value as an f32.
            #[inline(always)]
            pub fn to_f32(self) -> f32 {
                $widen(self.0)
            }
        }

        impl From<$name> for f32 {
            #[inline(always)]
            fn from(value: $name) -> f32 {
                value.to_f32()
            }
        }

        /// Compares as numbers: NaN equals nothing, the two zeros are equal.
        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        $(#[$pair_doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $pair(u32);

        impl $pair {
            /// The pair with these bits.
            #[inline(always)]
            pub const fn from_bits(bits: u32) -> Self {
                Self(bits)
            }

            /// The bits.
            #[inline(always)]
            pub const fn to_bits(self) -> u32 {
                self.0
            }

            /// Packs two values.
            #[inline(always)]
            pub const fn new(low: $name, high: $name) -> Self {
                Self(low.0 as u32 | (high.0 as u32) << 16)
            }

            #[doc = concat!("Converts and packs two values. On the device `cvt.rn.", $text, "x2.f32`.")]
            #[inline(always)]
            pub fn from_f32(low: f32, high: f32) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let bits: u32;
                    // SAFETY: arithmetic on registers.
                    unsafe {
                        core::arch::asm!(
                            concat!("cvt.rn.", $text, "x2.f32 {}, {}, {};"),
                            out(reg32) bits, in(reg32) high, in(reg32) low,
                            options(pure, nomem, nostack)
                        );
                    }
                    Self(bits)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    Self::new($name::from_f32(low), $name::from_f32(high))
                }
            }

            /// The element in the low half.
            #[inline(always)]
            pub const fn low(self) -> $name {
                $name(self.0 as u16)
            }

            /// The element in the high half.
            #[inline(always)]
            pub const fn high(self) -> $name {
                $name((self.0 >> 16) as u16)
            }
        }

        impl core::fmt::Debug for $pair {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($pair)).field(&self.low()).field(&self.high()).finish()
            }
        }
    };
}

half! {
    /// Brain float: 1 sign, 8 exponent and 7 fraction bits.
    bf16, bf16x2,
    /// Two [`bf16`] in one register.
    "bf16", narrow_bf16, widen_bf16
}

half! {
    /// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
    f16, f16x2,
    /// Two [`f16`](struct@f16) in one register.
    "f16", narrow_f16, widen_f16
}

/// The NaN that `cvt` gives for both formats.
#[cfg(not(target_arch = "nvptx64"))]
const CANONICAL_NAN: u16 = 0x7fff;

#[cfg(not(target_arch = "nvptx64"))]
fn narrow_bf16(value: f32) -> u16 {
    if value.is_nan() {
        return CANONICAL_NAN;
    }
    let bits = value.to_bits();
    // Half of the last place, less one when the kept part is even: ties go to even. A carry out of the
    // fraction raises the exponent, and out of the largest exponent gives infinity, as it should.
    let round = 0x7fff + ((bits >> 16) & 1);
    ((bits + round) >> 16) as u16
}

#[inline(always)]
fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(not(target_arch = "nvptx64"))]
fn narrow_f16(value: f32) -> u16 {
    if value.is_nan() {
        return CANONICAL_NAN;
    }
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    // 65520 and above round to infinity.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    // Below 2⁻¹⁴ the result is subnormal: a multiple of 2⁻²⁴. Adding 0.5, whose last place is 2⁻²⁴,
    // makes the f32 addition round to it.
    if magnitude < 0x3880_0000 {
        let sum = f32::from_bits(magnitude) + 0.5;
        return sign | (sum.to_bits() - 0x3f00_0000) as u16;
    }
    // Rebias the exponent from 127 to 15, then round as above.
    let rebiased = magnitude - ((127 - 15) << 23);
    let round = 0xfff + ((rebiased >> 13) & 1);
    sign | ((rebiased + round) >> 13) as u16
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn widen_f16(bits: u16) -> f32 {
    let value: f32;
    // SAFETY: arithmetic on registers.
    unsafe {
        core::arch::asm!(
            "cvt.f32.f16 {}, {};",
            out(reg32) value, in(reg16) bits, options(pure, nomem, nostack)
        );
    }
    value
}

#[cfg(not(target_arch = "nvptx64"))]
fn widen_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits) & 0x3ff;
    match exponent {
        // A subnormal is its fraction times 2⁻²⁴, and both factors are exact in f32.
        0 => f32::from_bits(sign | (fraction as f32 * f32::from_bits(0x3380_0000)).to_bits()),
        31 if fraction == 0 => f32::from_bits(sign | 0x7f80_0000),
        31 => f32::from_bits(0x7fff_ffff),
        _ => f32::from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13),
    }
}
macro_rules! quarter {
    ($(#[$doc:meta])* $name:ident, $widen:path) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Debug)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The value with these bits.
            #[inline(always)]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits.
            #[inline(always)]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The same value as an f32.
            #[inline(always)]
            pub fn to_f32(self) -> f32 {
                $widen(self.0)
            }
        }
    };
}

quarter! {
    /// One sign bit, four of exponent (bias 7), three of mantissa; no infinities, and NaN where all others are set.
    e4m3, widen_e4m3
}
quarter! {
    /// One sign bit, five of exponent (bias 15), two of mantissa: the upper half of an [`f16`](struct@f16).
    e5m2, widen_e5m2
}

fn widen_e5m2(bits: u8) -> f32 {
    f16::from_bits(u16::from(bits) << 8).to_f32()
}

fn widen_e4m3(bits: u8) -> f32 {
    if bits & 0x7f == 0x7f {
        return f32::NAN;
    }
    // As an f16 it is the value over 256: the exponent's bias is 8 less. Scaling by a power of two is exact.
    let sign = u16::from(bits & 0x80) << 8;
    let rest = u16::from(bits & 0x7f) << 7;
    f16::from_bits(sign | rest).to_f32() * 256.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_widen_to_what_their_bits_say() {
        for (bits, value) in [
            (0x38, 1.0),
            (0xb8, -1.0),
            (0x7e, 448.0),
            (0x01, 1.0 / 512.0),
            (0x00, 0.0),
            (0x3c, 1.5),
        ] {
            assert_eq!(e4m3::from_bits(bits).to_f32(), value, "e4m3 {bits:#04x}");
        }
        for (bits, value) in [(0x3c, 1.0), (0xbc, -1.0), (0x7b, 57344.0), (0x01, 1.0 / 65536.0)] {
            assert_eq!(e5m2::from_bits(bits).to_f32(), value, "e5m2 {bits:#04x}");
        }
        assert!(e4m3::from_bits(0x7f).to_f32().is_nan());
    }
}
