//! The 16-bit floats and pairs of them: operators, the hardware's forms, and [`Math`] by way of `f32`.
//!
//! On the host each operation is computed in `f64` and rounded to odd on its way to `f32`, so that it is rounded once.

use core::ops::{Add, Mul, Neg, Sub};

use super::{Math, Single};
use crate::float::{bf16, bf16x2, f16, f16x2};

/// The f32 next to `sum + error`, with its last bit set if it is not exact: what is rounded further, to half its precision or less,
/// is then rounded as if this had not been.
#[cfg(not(target_arch = "nvptx64"))]
fn to_odd(sum: f64, error: f64) -> f32 {
    let near = sum as f32;
    let rest = (sum - f64::from(near)) + error;
    if rest == 0.0 || !near.is_finite() || near.to_bits() & 1 == 1 {
        near
    } else if near == 0.0 {
        f32::copysign(f32::from_bits(1), rest as f32)
    } else if (rest > 0.0) == (near > 0.0) {
        f32::from_bits(near.to_bits() + 1)
    } else {
        f32::from_bits(near.to_bits() - 1)
    }
}

/// `a × b + c` of numbers of at most 11 bits, to be rounded once more.
#[cfg(not(target_arch = "nvptx64"))]
fn fma_to_odd(a: f32, b: f32, c: f32) -> f32 {
    // The product is exact, and the sum with its error too.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let of_c = sum - product;
    let error = (product - (sum - of_c)) + (c - of_c);
    if sum.is_finite() { to_odd(sum, error) } else { sum as f32 }
}

/// A value or a pair of them, element by element: what the host computes with.
#[cfg(not(target_arch = "nvptx64"))]
trait Lanes<E> {
    fn lanes<const N: usize>(of: [Self; N], f: impl Fn([f32; N]) -> f32) -> Self
    where
        Self: Sized;
}

macro_rules! lanes {
    ($element:ident $pair:ident) => {
        #[cfg(not(target_arch = "nvptx64"))]
        impl Lanes<$element> for $element {
            fn lanes<const N: usize>(of: [Self; N], f: impl Fn([f32; N]) -> f32) -> Self {
                Self::from_f32(f(of.map(Self::to_f32)))
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        impl Lanes<$element> for $pair {
            fn lanes<const N: usize>(of: [Self; N], f: impl Fn([f32; N]) -> f32) -> Self {
                let (low, high) = (of.map(Self::low), of.map(Self::high));
                Self::new(Lanes::lanes(low, &f), Lanes::lanes(high, &f))
            }
        }
    };
}
lanes!(f16 f16x2);
lanes!(bf16 bf16x2);

/// Flushes what is subnormal, where the instruction does.
#[cfg(not(target_arch = "nvptx64"))]
fn ex2(x: f32, text: &str) -> f32 {
    let flush = |x: f32| {
        if text.contains(".ftz") && x.abs() < f32::MIN_POSITIVE { f32::copysign(0.0, x) } else { x }
    };
    let exact = f64::from(flush(x)).exp2();
    // bf16 has the exponents of f32.
    flush(exact as f32)
}

/// One instruction of one type, lane by lane on the host.
macro_rules! form {
    ($class:ident $bits:ident, $text:expr, ($a:expr) => |$x:pat_param| $host:expr) => {
        Self::from_bits(instruction!(
            concat!($text, " {}, {};"),
            ($class $a.to_bits()) -> $class $bits,
            Self::lanes([$a], |[$x]| $host).to_bits()
        ))
    };
    ($class:ident $bits:ident, $text:expr, ($a:expr, $b:expr) => |$x:ident, $y:ident| $host:expr) => {
        Self::from_bits(instruction!(
            concat!($text, " {}, {}, {};"),
            ($class $a.to_bits(), $class $b.to_bits()) -> $class $bits,
            Self::lanes([$a, $b], |[$x, $y]| $host).to_bits()
        ))
    };
    ($class:ident $bits:ident, $text:expr, ($a:expr, $b:expr, $c:expr) => |$x:ident, $y:ident, $z:ident| $host:expr) => {
        Self::from_bits(instruction!(
            concat!($text, " {}, {}, {}, {};"),
            ($class $a.to_bits(), $class $b.to_bits(), $class $c.to_bits()) -> $class $bits,
            Self::lanes([$a, $b, $c], |[$x, $y, $z]| $host).to_bits()
        ))
    };
}

macro_rules! forms {
    ($name:ident $class:ident $bits:ident $sign:literal $text:literal; $fma:literal; $add:literal; $ex2:literal $ex2_since:literal $ex2_error:literal;
     $tanh_since:literal $tanh_error:literal) => {
        impl $name {
            /// `self × a + b`, rounded once.
            ///
            /// # PTX
            #[doc = concat!("`fma.rn.", $text, "`, ", $fma)]
            #[inline(always)]
            pub fn mul_add(self, a: Self, b: Self) -> Self {
                form!($class $bits, concat!("fma.rn.", $text), (self, a, b) => |x, y, z| fma_to_odd(x, y, z))
            }

            /// `self × a + b`, rounded once, and 0 where that is negative or NaN's canonical form where it is NaN.
            ///
            /// # PTX
            #[doc = concat!("`fma.rn.relu.", $text, "`, PTX 7.0, sm_80.")]
            #[inline(always)]
            pub fn mul_add_relu(self, a: Self, b: Self) -> Self {
                form!($class $bits, concat!("fma.rn.relu.", $text), (self, a, b) => |x, y, z| {
                    let value = fma_to_odd(x, y, z);
                    if value <= 0.0 { 0.0 } else { value }
                })
            }

            /// The lesser; a number wins against a NaN, and −0 is less than +0.
            ///
            /// # PTX
            #[doc = concat!("`min.", $text, "`, PTX 7.0, sm_80.")]
            #[inline(always)]
            pub fn min(self, other: Self) -> Self {
                form!($class $bits, concat!("min.", $text), (self, other) => |x, y| Math::min(x, y))
            }

            /// The greater; a number wins against a NaN, and +0 is greater than −0.
            ///
            /// # PTX
            #[doc = concat!("`max.", $text, "`, PTX 7.0, sm_80.")]
            #[inline(always)]
            pub fn max(self, other: Self) -> Self {
                form!($class $bits, concat!("max.", $text), (self, other) => |x, y| Math::max(x, y))
            }

            /// The lesser, or NaN if one is NaN.
            ///
            /// # PTX
            #[doc = concat!("`min.NaN.", $text, "`, PTX 7.0, sm_80.")]
            #[inline(always)]
            pub fn min_nan(self, other: Self) -> Self {
                form!($class $bits, concat!("min.NaN.", $text), (self, other) => |x, y| Math::min_nan(x, y))
            }

            /// The greater, or NaN if one is NaN.
            ///
            /// # PTX
            #[doc = concat!("`max.NaN.", $text, "`, PTX 7.0, sm_80.")]
            #[inline(always)]
            pub fn max_nan(self, other: Self) -> Self {
                form!($class $bits, concat!("max.NaN.", $text), (self, other) => |x, y| Math::max_nan(x, y))
            }

            /// The magnitude.
            #[inline(always)]
            pub const fn abs(self) -> Self {
                Self::from_bits(self.to_bits() & !$sign)
            }

            #[doc = concat!("2ˣ: ", $ex2_error, ".")]
            ///
            /// # PTX
            #[doc = concat!("`", $ex2, "`, ", $ex2_since)]
            #[inline(always)]
            pub fn ex2_approx(self) -> Self {
                form!($class $bits, $ex2, (self) => |x| ex2(x, $ex2))
            }

            #[doc = concat!("The hyperbolic tangent: ", $tanh_error, ".")]
            ///
            /// # PTX
            #[doc = concat!("`tanh.approx.", $text, "`, ", $tanh_since)]
            #[inline(always)]
            pub fn tanh_approx(self) -> Self {
                form!($class $bits, concat!("tanh.approx.", $text), (self) => |x| f64::from(x).tanh() as f32)
            }
        }

        #[doc = concat!("`add.rn.", $text, "`, ", $add)]
        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                form!($class $bits, concat!("add.rn.", $text), (self, other) => |x, y| fma_to_odd(x, 1.0, y))
            }
        }

        #[doc = concat!("`sub.rn.", $text, "`, ", $add)]
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                form!($class $bits, concat!("sub.rn.", $text), (self, other) => |x, y| fma_to_odd(x, 1.0, -y))
            }
        }

        #[doc = concat!("`mul.rn.", $text, "`, ", $add)]
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // The product of two f32 with 11 bits each is exact, but where it is subnormal.
                form!($class $bits, concat!("mul.rn.", $text), (self, other) => |x, y| {
                    to_odd(f64::from(x) * f64::from(y), 0.0)
                })
            }
        }

        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::from_bits(self.to_bits() ^ $sign)
            }
        }
    };
}

forms! {
    f16 reg16 u16 0x8000 "f16"; "PTX 4.2, sm_53."; "PTX 4.2, sm_53.";
    "ex2.approx.f16" "PTX 7.0, sm_75." "relative error at most 2⁻⁹·⁹";
    "PTX 7.0, sm_75." "absolute error at most 2⁻¹⁰·⁹⁸⁷"
}
forms! {
    f16x2 reg32 u32 0x8000_8000 "f16x2"; "PTX 4.2, sm_53."; "PTX 4.2, sm_53.";
    "ex2.approx.f16x2" "PTX 7.0, sm_75." "relative error at most 2⁻⁹·⁹";
    "PTX 7.0, sm_75." "absolute error at most 2⁻¹⁰·⁹⁸⁷"
}
forms! {
    bf16 reg16 u16 0x8000 "bf16"; "PTX 7.0, sm_80."; "PTX 7.8, sm_90.";
    "ex2.approx.ftz.bf16" "PTX 7.8, sm_90." "relative error at most 2⁻⁷, without subnormals";
    "PTX 7.8, sm_90." "absolute error at most 2⁻⁸"
}
forms! {
    bf16x2 reg32 u32 0x8000_8000 "bf16x2"; "PTX 7.0, sm_80."; "PTX 7.8, sm_90.";
    "ex2.approx.ftz.bf16x2" "PTX 7.8, sm_90." "relative error at most 2⁻⁷, without subnormals";
    "PTX 7.8, sm_90." "absolute error at most 2⁻⁸"
}

macro_rules! by_way_of_f32 {
    ($($name:ident)*) => {$(
        impl Single for $name {
            #[inline(always)]
            fn through(self, f: impl Fn(f32) -> f32) -> Self {
                Self::from_f32(f(self.to_f32()))
            }
            #[inline(always)]
            fn wide(self) -> f32 {
                self.to_f32()
            }
        }

        impl Math for $name {
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $name::mul_add(self, a, b)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $name::abs(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                Self::from_bits(self.to_bits() & 0x7fff | sign.to_bits() & 0x8000)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                $name::min(self, other)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                $name::max(self, other)
            }
            #[inline(always)]
            fn min_nan(self, other: Self) -> Self {
                $name::min_nan(self, other)
            }
            #[inline(always)]
            fn max_nan(self, other: Self) -> Self {
                $name::max_nan(self, other)
            }
            by_way_of_f32!(@ sqrt saturate floor ceil trunc round_ties_even exp ln tanh sigmoid);
        }
    )*};
    (@ $($function:ident)*) => {$(
        #[inline(always)]
        fn $function(self) -> Self {
            self.through(<f32 as Math>::$function)
        }
    )*};
}
by_way_of_f32!(f16 bf16);
