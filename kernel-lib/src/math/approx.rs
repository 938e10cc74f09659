//! The special function unit's instructions, and what is usually made of them.

use super::{Math, sealed};

/// Approximations in hardware, of `f32`.
///
/// Each method named after an instruction is that instruction; with `ftz` it takes subnormal arguments for zeros and gives zeros for
/// subnormal results, which saves the instructions around it that scale them. The errors are those that the ISA promises (9.7.3);
/// the emulator and the host give the rounded exact value, which is better.
///
/// ```
/// use baton::prelude::*;
/// let x: f32 = 0.25f32.ex2_approx();
/// assert!((x - 1.1892071).abs() < 1e-6);
/// ```
pub trait Approx: sealed::Sealed + Copy {
    /// 2ˣ within 2 ulp.
    ///
    /// # PTX
    /// `ex2.approx.f32`, PTX 1.4, sm_20.
    fn ex2_approx(self) -> Self;
    /// 2ˣ within 2 ulp, without subnormals.
    ///
    /// # PTX
    /// `ex2.approx.ftz.f32`, PTX 1.4, sm_20.
    fn ex2_approx_ftz(self) -> Self;
    /// The binary logarithm: absolute error at most 2⁻²² between ½ and 2, relative error at most 2⁻²² elsewhere.
    ///
    /// # PTX
    /// `lg2.approx.f32`, PTX 1.4, sm_20.
    fn lg2_approx(self) -> Self;
    /// As [`lg2_approx`](Approx::lg2_approx), without subnormals.
    ///
    /// # PTX
    /// `lg2.approx.ftz.f32`, PTX 1.4, sm_20.
    fn lg2_approx_ftz(self) -> Self;
    /// The sine: absolute error at most 2⁻²⁰·⁵ from −2π to 2π, 2⁻¹⁴·⁷ from −100π to 100π, and no promise beyond.
    ///
    /// # PTX
    /// `sin.approx.f32`, PTX 1.4, sm_20.
    fn sin_approx(self) -> Self;
    /// The cosine, with the error of [`sin_approx`](Approx::sin_approx).
    ///
    /// # PTX
    /// `cos.approx.f32`, PTX 1.4, sm_20.
    fn cos_approx(self) -> Self;
    /// The hyperbolic tangent: relative error at most 2⁻¹¹.
    ///
    /// # PTX
    /// `tanh.approx.f32`, PTX 7.0, sm_75.
    fn tanh_approx(self) -> Self;
    /// The reciprocal within 1 ulp.
    ///
    /// # PTX
    /// `rcp.approx.f32`, PTX 1.4, sm_20.
    fn rcp_approx(self) -> Self;
    /// The reciprocal within 1 ulp, without subnormals: one instruction of the machine.
    ///
    /// # PTX
    /// `rcp.approx.ftz.f32`, PTX 1.4, sm_20.
    fn rcp_approx_ftz(self) -> Self;
    /// The reciprocal of the square root: relative error at most 2⁻²²·⁹.
    ///
    /// # PTX
    /// `rsqrt.approx.f32`, PTX 1.4, sm_20.
    fn rsqrt_approx(self) -> Self;
    /// As [`rsqrt_approx`](Approx::rsqrt_approx), without subnormals.
    ///
    /// # PTX
    /// `rsqrt.approx.ftz.f32`, PTX 1.4, sm_20.
    fn rsqrt_approx_ftz(self) -> Self;
    /// The square root: relative error at most 2⁻²³.
    ///
    /// # PTX
    /// `sqrt.approx.f32`, PTX 1.4, sm_20.
    fn sqrt_approx(self) -> Self;
    /// As [`sqrt_approx`](Approx::sqrt_approx), without subnormals.
    ///
    /// # PTX
    /// `sqrt.approx.ftz.f32`, PTX 1.4, sm_20.
    fn sqrt_approx_ftz(self) -> Self;
    /// The quotient within 2 ulp for divisors from 2⁻¹²⁶ to 2¹²⁶; for larger ones zero, or NaN of an infinite dividend.
    ///
    /// # PTX
    /// `div.approx.f32`, PTX 1.4, sm_20.
    fn div_approx(self, by: Self) -> Self;

    /// eˣ as 2^(x·log₂e): the product's rounding adds |x|·2⁻²⁴ relatively to the 2 ulp of `ex2.approx.ftz` (CUDA's `__expf`).
    #[inline(always)]
    fn exp_approx(self) -> Self
    where
        Self: From<f32> + Into<f32>,
    {
        (self.into() * core::f32::consts::LOG2_E).ex2_approx_ftz().into()
    }
    /// The natural logarithm as log₂x·ln 2 (CUDA's `__logf`).
    #[inline(always)]
    fn ln_approx(self) -> Self
    where
        Self: From<f32> + Into<f32>,
    {
        (self.into().lg2_approx_ftz() * core::f32::consts::LN_2).into()
    }
    /// `self` to the power of `exponent` as 2^(y·log₂x), for positive bases (CUDA's `__powf`).
    #[inline(always)]
    fn powf_approx(self, exponent: Self) -> Self
    where
        Self: From<f32> + Into<f32>,
    {
        (exponent.into() * self.into().lg2_approx_ftz()).ex2_approx_ftz().into()
    }
    /// 1 ⁄ (1 + e⁻ˣ) as ½ + ½·tanh(½x), with `tanh.approx`: absolute error about 2⁻¹².
    #[inline(always)]
    fn sigmoid_approx(self) -> Self
    where
        Self: From<f32> + Into<f32>,
    {
        Math::mul_add((0.5 * self.into()).tanh_approx(), 0.5, 0.5).into()
    }
    /// x·sigmoid(x), as [`sigmoid_approx`](Approx::sigmoid_approx).
    #[inline(always)]
    fn silu_approx(self) -> Self
    where
        Self: From<f32> + Into<f32>,
    {
        let half = 0.5 * self.into();
        Math::mul_add(half.tanh_approx(), half, half).into()
    }
    /// [`gelu_tanh`](Math::gelu_tanh) with `tanh.approx`.
    #[inline(always)]
    fn gelu_approx(self) -> Self
    where
        Self: From<f32> + Into<f32>,
    {
        let x: f32 = self.into();
        let u = x * Math::mul_add(x * x, 0.035_677_407, 0.797_884_6);
        let half = 0.5 * x;
        Math::mul_add(u.tanh_approx(), half, half).into()
    }
}

/// A subnormal as a zero of its sign.
#[cfg(not(target_arch = "nvptx64"))]
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { f32::copysign(0.0, x) } else { x }
}

macro_rules! approximate {
    ($($name:ident = $text:literal, $x:ident => $host:expr;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            instruction!(concat!($text, " {}, {};"), (reg32 self) -> reg32 f32, {
                let f: fn(f64) -> f64 = |$x| $host;
                if $text.contains(".ftz") {
                    flushed(f(f64::from(flushed(self))) as f32)
                } else {
                    f(f64::from(self)) as f32
                }
            })
        }
    )*};
}

impl Approx for f32 {
    approximate! {
        ex2_approx = "ex2.approx.f32", x => x.exp2();
        ex2_approx_ftz = "ex2.approx.ftz.f32", x => x.exp2();
        lg2_approx = "lg2.approx.f32", x => x.log2();
        lg2_approx_ftz = "lg2.approx.ftz.f32", x => x.log2();
        sin_approx = "sin.approx.f32", x => x.sin();
        cos_approx = "cos.approx.f32", x => x.cos();
        tanh_approx = "tanh.approx.f32", x => x.tanh();
        rcp_approx = "rcp.approx.f32", x => 1.0 / x;
        rcp_approx_ftz = "rcp.approx.ftz.f32", x => 1.0 / x;
        rsqrt_approx = "rsqrt.approx.f32", x => 1.0 / x.sqrt();
        rsqrt_approx_ftz = "rsqrt.approx.ftz.f32", x => 1.0 / x.sqrt();
        sqrt_approx = "sqrt.approx.f32", x => x.sqrt();
        sqrt_approx_ftz = "sqrt.approx.ftz.f32", x => x.sqrt();
    }

    #[inline(always)]
    fn div_approx(self, by: Self) -> Self {
        instruction!("div.approx.f32 {}, {}, {};", (reg32 self, reg32 by) -> reg32 f32, self / by)
    }
}
