//! Functions of `f32`, of rounded operations alone: the same bits wherever they run.
//!
//! Each reduces its argument so that a polynomial of a few terms is as good as the format, and puts the result together again.
//! The polynomials interpolate at Chebyshev's points of the reduced interval, computed in exact rationals and rounded to `f32`.

// More digits than the nearest number needs, and coefficients near constants that they are not.
#![allow(clippy::excessive_precision, clippy::approx_constant)]

use super::Math;

#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    instruction!("fma.rn.f32 {}, {}, {}, {};", (reg32 a, reg32 b, reg32 c) -> reg32 f32, a.mul_add(b, c))
}

/// `c₀ + c₁·x + …`, by Horner's rule.
macro_rules! polynomial {
    ($x:expr; $c:literal) => { $c };
    ($x:expr; $c:literal, $($rest:literal),+) => { fma(polynomial!($x; $($rest),+), $x, $c) };
}

/// Adding and subtracting it rounds to an integer: the last place of numbers around it is 1.
const ROUND: f32 = 12_582_912.0;

const LN_2: [f32; 2] = [0.693_147_182_464_599_6, -1.904_654_212_125_933_6e-9];
const LOG2_E: [f32; 2] = [1.442_695_021_629_333_5, 1.925_963_033_500_011e-8];

/// `m · 2ᵏ` for `m` near 1 and `k` from −200 to 200, rounded once: in two factors, since 2ᵏ itself may be none.
#[inline(always)]
fn scale(m: f32, k: f32) -> f32 {
    let k = k as i32;
    let half = k >> 1;
    let power = |k: i32| f32::from_bits(((k + 127) << 23) as u32);
    m * power(half) * power(k - half)
}

#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Beyond these, zero and infinity; NaN stays.
    let x = Math::clamp(x, -104.0, 89.0);
    let k = fma(x, LOG2_E[0], ROUND) - ROUND;
    let r = fma(k, -LN_2[1], fma(k, -LN_2[0], x));
    let q = polynomial!(r; 0.5, 0.166_666_67, 0.041_666_463, 0.008_333_31, 0.001_393_388_1, 0.000_198_912_47);
    scale(fma(r * r, q, r) + 1.0, k)
}

/// 2ʳ for `r` from −½ to ½.
#[inline(always)]
fn exp2_reduced(r: f32) -> f32 {
    let q = polynomial!(r; 0.693_147_2, 0.240_226_5, 0.055_504_11, 0.009_618_057, 0.001_333_350_2, 0.000_154_614_44, 0.000_015_297_324);
    fma(r, q, 1.0)
}

#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let x = Math::clamp(x, -151.0, 129.0);
    let k = (x + ROUND) - ROUND;
    scale(exp2_reduced(x - k), k)
}

/// Of a positive number: the exponent, and the mantissa less 1, from −⅓ to ⅓.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    let (x, below) = if x < f32::MIN_POSITIVE { (x * 8_388_608.0, -23) } else { (x, 0) };
    let bits = x.to_bits() as i32;
    // 2⁄3: what is above it has the next exponent.
    let exponent = (bits - 0x3f2a_aaab) & 0xff80_0000_u32 as i32;
    let mantissa = f32::from_bits((bits - exponent) as u32);
    (((exponent >> 23) + below) as f32, mantissa - 1.0)
}

/// `(ln(1 + f) − f) ⁄ f²` for `f` from −⅓ to ⅓.
#[inline(always)]
fn ln_rest(f: f32) -> f32 {
    polynomial!(f; -0.5, 0.333_332_72, -0.249_999_43, 0.200_072_44, -0.166_733_25, 0.140_556_1, -0.122_885_354, 0.137_495_29, -0.124_233_24)
}

/// What a logarithm is of arguments that are no positive finite numbers.
#[inline(always)]
fn logarithm(x: f32, of_positive: f32) -> f32 {
    let result = if x == f32::INFINITY { x } else { of_positive };
    let result = if x == 0.0 { f32::NEG_INFINITY } else { result };
    if x >= 0.0 { result } else { f32::NAN }
}

#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    let (e, f) = split(x);
    let rest = fma(f * f, ln_rest(f), e * LN_2[1]);
    logarithm(x, fma(e, LN_2[0], f + rest))
}

#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    let (e, f) = split(x);
    // ln(1 + f) in two parts, times 1 ⁄ ln 2 in two parts.
    let square = f * f;
    let rest = square * ln_rest(f);
    let sum = f + rest;
    let below = rest - (sum - f);
    let low = fma(sum, LOG2_E[1], below * LOG2_E[0]);
    let high = sum * LOG2_E[0];
    let low = low + fma(sum, LOG2_E[0], -high);
    logarithm(x, (e + high) + (low + (high - ((e + high) - e))))
}

/// The angle less the multiple of π⁄2 that is nearest, and that multiple's number (of which the last two bits count).
#[inline(always)]
fn reduce(x: f32) -> (f32, u32) {
    if x.abs() < 32_768.0 {
        let k = fma(x, 0.636_619_75, ROUND) - ROUND;
        let r = fma(k, -1.570_796_4, x);
        let r = fma(k, 4.371_139e-8, r);
        (fma(k, 1.715_124_5e-15, r), k as i32 as u32)
    } else {
        reduce_far(x)
    }
}

/// For numbers of 2¹⁵ and more, which are a mantissa of 24 bits times a power of two: the mantissa times the bits of 2⁄π that lie
/// around the point once the power is applied. Those before it only add whole turns.
#[inline(always)]
fn reduce_far(x: f32) -> (f32, u32) {
    // 2⁄π · 2²⁵⁶
    const HIGH: u128 = 0xa2f9_836e_4e44_1529_fc27_57d1_f534_ddc0;
    const LOW: u128 = 0xdb62_9599_3c43_9041_fe51_63ab_debb_c561;
    let bits = x.to_bits();
    // x = mantissa · 2^exponent, the exponent from −8 to 104 where x is finite.
    let exponent = ((bits >> 23) & 0xff) as i32 - 150;
    let mantissa = (bits & 0x7f_ffff | 0x80_0000) as u128;
    // 2⁄π · 2^exponent modulo 4, in units of 2⁻¹²⁶.
    let shift = (130 - exponent) as u32;
    let window = if shift < 128 {
        HIGH << (128 - shift) | LOW >> shift
    } else {
        HIGH >> ((shift - 128) & 127)
    };
    let product = window.wrapping_mul(mantissa);
    // The quadrant in the two highest bits; the nearest multiple is half a quadrant on.
    let quadrant = (product.wrapping_add(1 << 125) >> 126) as u32;
    let fraction = (product.wrapping_sub((quadrant as u128) << 126) as i128 >> 62) as i64;
    // In quadrants times 2⁶⁴; a conversion and a product in double precision lose nothing that counts.
    let r =
        (fraction as f64 * (core::f64::consts::FRAC_PI_2 / 18_446_744_073_709_551_616.0)) as f32;
    let (r, quadrant) = if x < 0.0 { (-r, quadrant.wrapping_neg()) } else { (r, quadrant) };
    (if x.abs() < f32::INFINITY { r } else { f32::NAN }, quadrant)
}

/// The sine or the cosine of what is left, by the number of the quadrant.
#[inline(always)]
fn of_quadrant(r: f32, quadrant: u32) -> f32 {
    let z = r * r;
    let sine = fma(z * r, polynomial!(z; -0.166_666_64, 0.008_332_747, -0.000_195_876_26), r);
    let rest = polynomial!(z; 0.041_666_64, -0.001_388_830_1, 0.000_024_547_677);
    let cosine = fma(z * z, rest, fma(z, -0.5, 1.0));
    let value = if quadrant & 1 == 0 { sine } else { cosine };
    if quadrant & 2 == 0 { value } else { -value }
}

#[inline(always)]
pub(super) fn sin(x: f32) -> f32 {
    let (r, quadrant) = reduce(x);
    // The reduction makes +0 of −0.
    if x == 0.0 { x } else { of_quadrant(r, quadrant) }
}

#[inline(always)]
pub(super) fn cos(x: f32) -> f32 {
    let (r, quadrant) = reduce(x);
    of_quadrant(r, quadrant.wrapping_add(1))
}

#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let near = fma(
        z * x,
        polynomial!(z; -0.333_333_34, 0.133_333_1, -0.053_960_856, 0.021_782_247, -0.008_388_774, 0.002_344_931_2),
        x,
    );
    let far = (1.0 - 2.0 / (exp(2.0 * a) + 1.0)).copysign(x);
    if a < 0.6 { near } else { far }
}

#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    let e = exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

#[inline(always)]
pub(super) fn silu(x: f32) -> f32 {
    // Where the sigmoid is zero, so is the product.
    let s = sigmoid(x);
    if x == f32::NEG_INFINITY { -0.0 } else { x * s }
}

#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let near = polynomial!(z; 0.128_379_17, -0.376_126_35, 0.112_836_91, -0.026_859_151, 0.005_200_369, -0.000_813_470_9, 0.000_083_347_19);
    let near = fma(x, near, x);
    // −ln(1 − erf(a)) ⁄ a
    let b = Math::min_nan(a, 4.0);
    let tail = polynomial!(b; 1.128_554_9, 0.635_672_33, 0.105_007_37, -0.022_155_546, 0.002_368_416_2, 0.000_308_988_24, -0.000_183_143_33, 0.000_035_485_61, -0.000_003_479_807_2, 0.000_000_143_548_49);
    let far = (1.0 - exp(-b * tail)).copysign(x);
    if a < 0.92 { near } else { far }
}

#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    let value = 0.5 * x * (1.0 + erf(x * core::f32::consts::FRAC_1_SQRT_2));
    if x == f32::NEG_INFINITY { -0.0 } else { value }
}

#[inline(always)]
pub(super) fn gelu_tanh(x: f32) -> f32 {
    // ½(1 + tanh u) is sigmoid(2u); 2√(2⁄π), and that times 0.044715.
    let u = x * fma(x * x, 0.071_354_814, 1.595_769_1);
    if x == f32::NEG_INFINITY { -0.0 } else { x * sigmoid(u) }
}

/// The binary logarithm of a positive number in two parts, good to about 2⁻³¹ of itself.
#[inline(always)]
fn log2_parts(x: f32) -> (f32, f32) {
    let (e, f) = split(x);
    // ln(1 + f) = 2 artanh s, s = f ⁄ (2 + f), in two parts.
    let d = 2.0 + f;
    let d_low = f - (d - 2.0);
    let s = f / d;
    let s_low = fma(-s, d_low, fma(-s, d, f)) / d;
    let z = s * s;
    let q = z
        * polynomial!(z; 0.333_333_34, 0.2, 0.142_857_15, 0.111_111_11, 0.090_909_09, 0.076_923_08);
    let low = fma(s, q, s_low);
    let sum = s + low;
    let low = low - (sum - s);
    // Times 2 ⁄ ln 2.
    let high = sum * 2.885_390_043_258_667;
    let low = fma(sum, 2.885_390_043_258_667, -high)
        + fma(sum, 3.851_926_067_000_022e-8, low * 2.885_390_043_258_667);
    let total = e + high;
    (total, (high - (total - e)) + low)
}

#[inline(always)]
pub(super) fn powf(x: f32, y: f32) -> f32 {
    let (high, low) = log2_parts(x.abs());
    let z = y * high;
    let z_low = fma(y, low, fma(y, high, -z));
    let clamped = Math::clamp(z, -152.0, 129.0);
    let k = (clamped + ROUND) - ROUND;
    let r = (clamped - k) + if clamped == z { z_low } else { 0.0 };
    let magnitude = scale(exp2_reduced(r), k);

    // Integers are those that rounding leaves; from 2²⁴ on all are even.
    let integer = Math::trunc(y) == y;
    let odd = integer && y.abs() < 16_777_216.0 && y as i32 & 1 == 1;
    let of_large = if (x.abs() > 1.0) == (y > 0.0) { f32::INFINITY } else { 0.0 };
    let magnitude =
        if x == 0.0 || x.is_infinite() || y.is_infinite() { of_large } else { magnitude };
    let magnitude = if x == -1.0 && y.is_infinite() { 1.0 } else { magnitude };
    let signed = if odd && x.is_sign_negative() { -magnitude } else { magnitude };
    let signed = if x < 0.0 && x > f32::NEG_INFINITY && !integer { f32::NAN } else { signed };
    let signed = if x.is_nan() || y.is_nan() { f32::NAN } else { signed };
    if x == 1.0 || y == 0.0 { 1.0 } else { signed }
}

impl Math for f32 {
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma(self, a, b)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        instruction!("sqrt.rn.f32 {}, {};", (reg32 self) -> reg32 f32, f32::sqrt(self))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        f32::copysign(self, sign)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        instruction!("min.f32 {}, {}, {};", (reg32 self, reg32 other) -> reg32 f32, least(self, other, f32::min))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        instruction!(
            "max.f32 {}, {}, {};",
            (reg32 self, reg32 other) -> reg32 f32,
            -least(-self, -other, f32::min)
        )
    }
    #[inline(always)]
    fn min_nan(self, other: Self) -> Self {
        instruction!(
            "min.NaN.f32 {}, {}, {};",
            (reg32 self, reg32 other) -> reg32 f32,
            least(self, other, |_, _| f32::NAN)
        )
    }
    #[inline(always)]
    fn max_nan(self, other: Self) -> Self {
        instruction!(
            "max.NaN.f32 {}, {}, {};",
            (reg32 self, reg32 other) -> reg32 f32,
            -least(-self, -other, |_, _| f32::NAN)
        )
    }
    cuts!(f32, reg32, "f32");
    #[inline(always)]
    fn exp(self) -> Self {
        exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        ln(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        tanh(self)
    }
    #[inline(always)]
    fn sigmoid(self) -> Self {
        sigmoid(self)
    }
}

/// The lesser of two numbers, of which −0 is less than +0; `of_nan` where one is none.
#[cfg(not(target_arch = "nvptx64"))]
fn least(a: f32, b: f32, of_nan: impl Fn(f32, f32) -> f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        of_nan(a, b)
    } else if a < b || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}
