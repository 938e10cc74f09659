//! Mathematics of floats: Rust's names, with errors that are measured, and the hardware's approximations under PTX's names.
//!
//! - [`Math`] has what `std` has on the host, under the same names: `x.exp()`, `x.ln()`, `x.tanh()`, `a.mul_add(b, c)`. It is built of
//!   operations that IEEE 754 rounds (`fma.rn`, `add.rn`, `div.rn`, conversions), so the same source gives **the same bits** on a GPU, on
//!   the emulator and, called as `Math::exp(x)`, on the host. No function uses local memory or a table. How far each is from the
//!   exact value is measured, not promised: `docs/maths.md`.
//! - [`Approx`] has the instructions of the special function unit: `x.ex2_approx()` is `ex2.approx.f32` and nothing else. Their error is
//!   the ISA's bound, which each method quotes; the emulator's own is smaller, so a test on the emulator is no measurement of theirs.
//!   `exp_approx`, `ln_approx`, `powf_approx`, `sigmoid_approx`, `gelu_approx` and `silu_approx` are the usual two or three instructions.
//! - [`f16`](struct@crate::float::f16), [`bf16`](crate::float::bf16) and pairs of them have operators and the hardware's packed forms: [`f16x2::mul_add`](crate::float::f16x2::mul_add) is
//!   one `fma.rn.f16x2`.
//! - [`cvt_rni_sat`] converts to integers, rounds and saturates; [`dp4a_u32`] and its like multiply bytes.
//!
//! A product and a sum become one `fma` where the author writes [`mul_add`](Math::mul_add), and nowhere else.
//!
//! # On the host
//! In a crate that is linked with `std`, `x.exp()` of an `f32` is `std`'s function, which wins over a trait's. It has the same name,
//! the same arguments and nearly the same value. `Math::exp(x)` is the device's to the last bit.
//!
//! ```
//! use baton::prelude::*;
//!
//! fn softplus<T: Math>(x: T, one: T) -> T {
//!     Math::exp(x).mul_add(one, one).ln()
//! }
//! assert_eq!(softplus(0.0f32, 1.0), core::f32::consts::LN_2);
//! assert_eq!(softplus(f16::ZERO, f16::from_f32(1.0)).to_f32(), 0.6933594);
//! ```
//!
//! ISA: *Floating Point Instructions*, *Half Precision Floating Point Instructions*, *cvt*, *dp4a*, *dp2a*.

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

/// One instruction of arithmetic: its text on the device, and on the host an expression of the same value.
macro_rules! instruction {
    ($text:expr, ($($class:ident $arg:expr),+) -> $out:ident $ty:ty, $host:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let result: $ty;
            // SAFETY: arithmetic on registers.
            unsafe {
                core::arch::asm!(
                    $text, out($out) result, $(in($class) $arg),+, options(pure, nomem, nostack)
                );
            }
            result
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let result: $ty = $host;
            result
        }
    }};
}

/// What `cvt` cuts of a float, in both widths: to 0 and 1, and to integers.
macro_rules! cuts {
    ($float:ident, $class:ident, $ty:literal) => {
        #[inline(always)]
        fn saturate(self) -> Self {
            instruction!(
                concat!("cvt.sat.", $ty, ".", $ty, " {}, {};"),
                ($class self) -> $class $float,
                if self > 0.0 { $float::min(self, 1.0) } else { 0.0 }
            )
        }
        cuts!($float, $class, $ty: floor ".rmi.", ceil ".rpi.", trunc ".rzi.", round_ties_even ".rni.");
    };
    ($float:ident, $class:ident, $ty:literal: $($name:ident $mode:literal),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            instruction!(
                concat!("cvt", $mode, $ty, ".", $ty, " {}, {};"),
                ($class self) -> $class $float,
                $float::$name(self)
            )
        }
    )*};
}

mod approx;
mod convert;
mod dot;
mod double;
mod half;
mod single;

pub use approx::Approx;
pub use convert::{RoundTo, cvt_rni_sat};
pub use dot::*;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for crate::float::f16 {}
    impl Sealed for crate::float::bf16 {}
}

/// A float of at most 32 bits: one whose functions are computed in `f32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such function on the device",
    label = "of `f32`, `f16` and `bf16` only",
    note = "in double precision there are `exp`, `ln`, `sqrt`, `mul_add`, `sigmoid`, `tanh` and what rounds and compares: convert to `f32`, \
            or bring a crate that has it"
)]
pub trait Single: Copy + sealed::Sealed {
    /// The function of its value in `f32`, rounded to this type.
    #[doc(hidden)]
    fn through(self, f: impl Fn(f32) -> f32) -> Self;
    /// The value in `f32`.
    #[doc(hidden)]
    fn wide(self) -> f32;
}

impl Single for f32 {
    #[inline(always)]
    fn through(self, f: impl Fn(f32) -> f32) -> Self {
        f(self)
    }
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }
}

/// A float with functions that `std` has and the device has not: none.
#[diagnostic::on_unimplemented(
    message = "the device has no function of this name for `{Self}`",
    label = "a function of `std` that `baton::math` does not have",
    note = "`baton::math::Math` lists those that it has; others can be written with them, or come from a crate in pure Rust"
)]
pub trait OnTheHost: sealed::Sealed {}

macro_rules! absent {
    ($($name:ident($($arg:ident),*);)*) => {$(
        #[doc(hidden)]
        fn $name(self $(, $arg: Self)*) -> Self
        where
            Self: OnTheHost,
        {
            let _ = ($($arg,)*);
            self
        }
    )*};
}

/// Functions of floats, under the names that `std` has for them.
///
/// Errors that say *ulp* are measured and stand in `docs/maths.md`; of `f16` and `bf16` every function is
/// that of `f32`, rounded.
///
/// ```
/// use baton::prelude::*;
/// assert_eq!(Math::exp(0.0f32), 1.0);
/// assert_eq!(Math::max_nan(1.0f32, 2.0), 2.0);
/// ```
///
/// What `std` has and the device has not says so:
///
/// ```compile_fail,E0277
/// # use baton::prelude::*;
/// let angle = bf16::from_f32(0.5).atan();
/// ```
pub trait Math: Copy + sealed::Sealed {
    /// `self × a + b`, rounded once: `fma.rn`.
    ///
    /// # PTX
    /// `fma.rn.f32`, PTX 1.4, sm_20; `fma.rn.f64`, PTX 1.4, sm_20; `fma.rn.f16`, PTX 4.2, sm_53; `fma.rn.bf16`, PTX 7.0, sm_80.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// The square root, correctly rounded: `sqrt.rn`. [`sqrt_approx`](Approx::sqrt_approx) is faster.
    ///
    /// # PTX
    /// `sqrt.rn.f32`, PTX 1.4, sm_20; `sqrt.rn.f64`, PTX 1.4, sm_20.
    fn sqrt(self) -> Self;

    /// The magnitude.
    fn abs(self) -> Self;

    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;

    /// The lesser; a number wins against a NaN, and −0 is less than +0.
    ///
    /// # PTX
    /// `min.f32`, PTX 1.0, sm_20; `min.f16` and `min.bf16`, PTX 7.0, sm_80.
    fn min(self, other: Self) -> Self;

    /// The greater; a number wins against a NaN, and +0 is greater than −0.
    ///
    /// # PTX
    /// `max.f32`, PTX 1.0, sm_20; `max.f16` and `max.bf16`, PTX 7.0, sm_80.
    fn max(self, other: Self) -> Self;

    /// The lesser, or NaN if one is NaN.
    ///
    /// # PTX
    /// `min.NaN.f32`, `min.NaN.f16` and `min.NaN.bf16`, PTX 7.0, sm_80. In double precision a comparison and a selection.
    fn min_nan(self, other: Self) -> Self;

    /// The greater, or NaN if one is NaN.
    ///
    /// # PTX
    /// `max.NaN.f32`, `max.NaN.f16` and `max.NaN.bf16`, PTX 7.0, sm_80. In double precision a comparison and a selection.
    fn max_nan(self, other: Self) -> Self;

    /// Between `low` and `high`; NaN stays NaN.
    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        Math::min_nan(Math::max_nan(self, low), high)
    }

    /// Between 0 and 1; NaN becomes 0.
    ///
    /// # PTX
    /// `cvt.sat.f32.f32`, PTX 1.0, sm_20; `cvt.sat.f64.f64`, PTX 1.4, sm_20.
    fn saturate(self) -> Self;

    /// The greatest integer that is not greater.
    ///
    /// # PTX
    /// `cvt.rmi.f32.f32`, PTX 1.0, sm_20; `cvt.rmi.f64.f64`, PTX 1.4, sm_20.
    fn floor(self) -> Self;

    /// The least integer that is not less.
    ///
    /// # PTX
    /// `cvt.rpi.f32.f32`, PTX 1.0, sm_20; `cvt.rpi.f64.f64`, PTX 1.4, sm_20.
    fn ceil(self) -> Self;

    /// The integer part.
    ///
    /// # PTX
    /// `cvt.rzi.f32.f32`, PTX 1.0, sm_20; `cvt.rzi.f64.f64`, PTX 1.4, sm_20.
    fn trunc(self) -> Self;

    /// The nearest integer, ties to even (C's `rint`).
    ///
    /// # PTX
    /// `cvt.rni.f32.f32`, PTX 1.0, sm_20; `cvt.rni.f64.f64`, PTX 1.4, sm_20.
    fn round_ties_even(self) -> Self;

    /// eˣ.
    fn exp(self) -> Self;

    /// The natural logarithm; NaN below zero.
    fn ln(self) -> Self;

    /// The hyperbolic tangent. [`tanh_approx`](Approx::tanh_approx) is one instruction.
    fn tanh(self) -> Self;

    /// 1 ⁄ (1 + e⁻ˣ).
    fn sigmoid(self) -> Self;

    /// 2ˣ.
    #[inline(always)]
    fn exp2(self) -> Self
    where
        Self: Single,
    {
        self.through(single::exp2)
    }

    /// The binary logarithm; NaN below zero.
    #[inline(always)]
    fn log2(self) -> Self
    where
        Self: Single,
    {
        self.through(single::log2)
    }

    /// The sine, of any argument: beyond 2¹⁵ by multiplication with 256 bits of 2⁄π, in registers.
    #[inline(always)]
    fn sin(self) -> Self
    where
        Self: Single,
    {
        self.through(single::sin)
    }

    /// The cosine, of any argument, as [`sin`](Math::sin).
    #[inline(always)]
    fn cos(self) -> Self
    where
        Self: Single,
    {
        self.through(single::cos)
    }

    /// `self` to the power of `exponent`, as C's `pow` for zeros, infinities, NaN and negative bases.
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self
    where
        Self: Single,
    {
        self.through(|x| single::powf(x, exponent.wide()))
    }

    /// The error function.
    #[inline(always)]
    fn erf(self) -> Self
    where
        Self: Single,
    {
        self.through(single::erf)
    }

    /// x·Φ(x), with the error function: `0.5 * x * (1 + erf(x / √2))`.
    #[inline(always)]
    fn gelu(self) -> Self
    where
        Self: Single,
    {
        self.through(single::gelu)
    }

    /// The usual approximation of [`gelu`](Math::gelu) by `tanh`.
    #[inline(always)]
    fn gelu_tanh(self) -> Self
    where
        Self: Single,
    {
        self.through(single::gelu_tanh)
    }

    /// x·sigmoid(x), also called swish.
    #[inline(always)]
    fn silu(self) -> Self
    where
        Self: Single,
    {
        self.through(single::silu)
    }

    absent! {
        acos(); asin(); atan(); atan2(other); tan(); sinh(); cosh(); asinh(); acosh(); atanh(); cbrt(); hypot(other);
        exp_m1(); ln_1p(); log10(); log(base); fract(); round(); rem_euclid(other); div_euclid(other);
    }
}
