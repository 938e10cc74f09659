//! Exact values, to more places than the functions under test have: `f64` for those of `f32`, and for those of `f64` a library of any
//! precision.

use dashu_float::FBig;

/// 1 − erf(x) with its relative precision kept: a series up to 2, a continued fraction beyond.
pub fn erfc(x: f64) -> f64 {
    if x < 2.0 {
        return 1.0 - erf(x);
    }
    if x > 27.0 {
        return 0.0;
    }
    let mut fraction = 0.0;
    for k in (1..=80).rev() {
        fraction = f64::from(k) / 2.0 / (x + fraction);
    }
    (-x * x).exp() / (x + fraction) / std::f64::consts::PI.sqrt()
}

/// The error function.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    let value = if a >= 2.0 {
        1.0 - erfc(a)
    } else {
        // x · e^(−x²) · 2⁄√π · Σ (2x²)ⁿ ⁄ (2n+1)!!, all of one sign.
        let z = 2.0 * a * a;
        let (mut term, mut sum, mut n) = (1.0, 1.0, 1.0);
        while term > sum * 1e-18 {
            n += 2.0;
            term *= z / n;
            sum += term;
        }
        a * (-a * a).exp() * std::f64::consts::FRAC_2_SQRT_PI * sum
    };
    value.copysign(x)
}

/// x·Φ(x).
pub fn gelu(x: f64) -> f64 {
    0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Its approximation by tanh, as a product with a sigmoid.
pub fn gelu_tanh(x: f64) -> f64 {
    x * sigmoid(2.0 * (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x))
}

pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A number with 128 bits.
fn wide(x: f64) -> FBig {
    FBig::try_from(x).expect("a finite number").with_precision(128).value()
}

/// The distance of `computed` from `exact`, in units of the last place of the former.
pub fn ulps(computed: f64, exact: &FBig) -> f64 {
    let ulp = f64::from_bits(computed.to_bits() + 1) - computed;
    ((wide(computed) - exact) / wide(ulp)).to_f64().value().abs()
}

pub fn exp(x: f64) -> FBig {
    wide(x).exp()
}

pub fn ln(x: f64) -> FBig {
    wide(x).ln()
}

/// tanh x as (e²ˣ − 1) ⁄ (e²ˣ + 1).
pub fn tanh(x: f64) -> FBig {
    let e = (wide(x) * wide(2.0)).exp();
    (e.clone() - wide(1.0)) / (e + wide(1.0))
}

pub fn wide_sigmoid(x: f64) -> FBig {
    wide(1.0) / (wide(1.0) + wide(-x).exp())
}
