//! Functions of `f64`, of rounded operations alone.

use super::Math;

#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    instruction!("fma.rn.f64 {}, {}, {}, {};", (reg64 a, reg64 b, reg64 c) -> reg64 f64, a.mul_add(b, c))
}

/// `c₀ + c₁·x + …`, by Horner's rule.
macro_rules! polynomial {
    ($x:expr; $c:expr) => { $c };
    ($x:expr; $c:expr, $($rest:expr),+) => { fma(polynomial!($x; $($rest),+), $x, $c) };
}

/// Adding and subtracting it rounds to an integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

const LN_2: [f64; 2] = [core::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];

/// `m · 2ᵏ`, rounded once.
#[inline(always)]
fn scale(m: f64, k: f64) -> f64 {
    let k = k as i32;
    let half = k >> 1;
    let power = |k: i32| f64::from_bits(((k + 1023) as u64) << 52);
    m * power(half) * power(k - half)
}

#[inline(always)]
fn exp(x: f64) -> f64 {
    let x = Math::clamp(x, -746.0, 710.0);
    let k = fma(x, core::f64::consts::LOG2_E, ROUND) - ROUND;
    let r = fma(k, -LN_2[1], fma(k, -LN_2[0], x));
    // The terms of the series up to r¹⁴, of which the next is below 2⁻⁶⁰.
    let q = polynomial!(
        r; 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40_320.0, 1.0 / 362_880.0,
        1.0 / 3_628_800.0, 1.0 / 39_916_800.0, 1.0 / 479_001_600.0, 1.0 / 6_227_020_800.0, 1.0 / 87_178_291_200.0
    );
    scale(fma(r * r, q, r) + 1.0, k)
}

#[inline(always)]
fn ln(x: f64) -> f64 {
    let (y, below) =
        if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, -54.0) } else { (x, 0.0) };
    let bits = y.to_bits() as i64;
    // 1⁄√2: what is above it has the next exponent.
    let exponent = (bits - 0x3fe6_a09e_667f_3bcd) & 0xfff0_0000_0000_0000_u64 as i64;
    let f = f64::from_bits((bits - exponent) as u64) - 1.0;
    let e = (exponent >> 52) as i32 as f64 + below;
    // ln(1 + f) = f − f²⁄2 + s·(f²⁄2 + R), s = f ⁄ (2 + f), where R = 2s²·(⅓ + s²⁄5 + …): f itself stays exact.
    let s = f / (2.0 + f);
    let z = s * s;
    let r = 2.0
        * z
        * polynomial!(
            z; 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0,
            1.0 / 21.0, 1.0 / 23.0
        );
    let half = 0.5 * f * f;
    let rest = fma(s, half + r, e * LN_2[1]) - half;
    let of_positive = fma(e, LN_2[0], f + rest);
    let result = if x == f64::INFINITY { x } else { of_positive };
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x >= 0.0 { result } else { f64::NAN }
}

#[inline(always)]
fn sigmoid(x: f64) -> f64 {
    let e = exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

#[inline(always)]
fn tanh(x: f64) -> f64 {
    // (e²ᵃ − 1) ⁄ (e²ᵃ + 1); near zero the difference is a series of its own.
    let a = x.abs();
    let t = 2.0 * a;
    let near = t
        * polynomial!(
            t; 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40_320.0, 1.0 / 362_880.0,
            1.0 / 3_628_800.0, 1.0 / 39_916_800.0, 1.0 / 479_001_600.0, 1.0 / 6_227_020_800.0, 1.0 / 87_178_291_200.0
        );
    let near = near / (near + 2.0);
    let far = 1.0 - 2.0 / (exp(t) + 1.0);
    f64::copysign(if a < 0.2 { near } else { far }, x)
}

impl Math for f64 {
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma(self, a, b)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        instruction!("sqrt.rn.f64 {}, {};", (reg64 self) -> reg64 f64, f64::sqrt(self))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        f64::copysign(self, sign)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        instruction!(
            "min.f64 {}, {}, {};",
            (reg64 self, reg64 other) -> reg64 f64,
            if self < other || other.is_nan() || self == other && self.is_sign_negative() { self } else { other }
        )
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        instruction!(
            "max.f64 {}, {}, {};",
            (reg64 self, reg64 other) -> reg64 f64,
            if self > other || other.is_nan() || self == other && self.is_sign_positive() { self } else { other }
        )
    }
    #[inline(always)]
    fn min_nan(self, other: Self) -> Self {
        if self.is_nan() {
            self
        } else if other.is_nan() {
            other
        } else {
            Math::min(self, other)
        }
    }
    #[inline(always)]
    fn max_nan(self, other: Self) -> Self {
        if self.is_nan() {
            self
        } else if other.is_nan() {
            other
        } else {
            Math::max(self, other)
        }
    }
    cuts!(f64, reg64, "f64");
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
