//! Arithmetic on the values of single lanes, bit by bit as PTX defines it.
//!
//! Half and bfloat16 arithmetic goes through `f64` with *rounding to odd* where a sum is not
//! exact there: a result rounded to odd carries a sticky bit, so that the final rounding to the
//! narrow format gives what one rounding of the exact result would.

mod integer;

#[cfg(test)]
mod tests;

use crate::ir::{Compare, FloatFn};
pub(crate) use integer::{Word, bfi, shift};

/// A format that arithmetic works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    F16,
    Bf16,
    F32,
    F64,
}

/// A binary floating-point format: exponent bits, fraction bits, how it treats the top exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub exponent: u8,
    pub fraction: u8,
    pub special: Special,
}

/// What codes beside the numbers a format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// The top exponent holds infinities and NaN.
    Ieee,
    /// One NaN, no infinity (`e4m3`).
    Nan,
    /// None: what is no number becomes the largest one.
    Nothing,
}

impl Format {
    pub const F16: Format = Format::new(5, 10, Special::Ieee);
    pub const BF16: Format = Format::new(8, 7, Special::Ieee);
    pub const TF32: Format = Format::new(8, 10, Special::Ieee);
    pub const F32: Format = Format::new(8, 23, Special::Ieee);
    pub const E5M2: Format = Format::new(5, 2, Special::Ieee);
    pub const E4M3: Format = Format::new(4, 3, Special::Nan);
    pub const E2M3: Format = Format::new(2, 3, Special::Nothing);
    pub const E3M2: Format = Format::new(3, 2, Special::Nothing);
    pub const E2M1: Format = Format::new(2, 1, Special::Nothing);
    /// Scale factors: powers of two without a sign. See [`to_power`].
    pub const UE8M0: Format = Format::new(8, 0, Special::Nan);

    const fn new(exponent: u8, fraction: u8, special: Special) -> Format {
        Format { exponent, fraction, special }
    }

    /// Bits that it takes where two are packed.
    pub fn container(self) -> u32 {
        match self.bits() {
            4 => 4,
            0..=9 => 8,
            _ => 16,
        }
    }

    pub fn bits(self) -> u8 {
        1 + self.exponent + self.fraction
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    NearestEven,
    NearestAway,
    Zero,
    Down,
    Up,
}

const F32_NAN: u32 = 0x7FFF_FFFF;

/// Rounds `x` to `format`, in its low bits. `finite` clamps to the largest finite value.
pub(crate) fn narrow(x: f64, format: Format, mode: Rounding, finite: bool) -> u32 {
    let Format { exponent: eb, fraction: fb, special } = format;
    let infinities = special == Special::Ieee;
    let finite = finite || special == Special::Nothing;
    let sign = u32::from(x.is_sign_negative()) << (eb + fb);
    let top = (1u32 << eb) - 1;
    let nan = (top << fb) | ((1 << fb) - 1);
    if x.is_nan() {
        return nan;
    }
    let largest = match special {
        Special::Ieee => (top << fb) - 1,
        Special::Nan => nan - 1,
        Special::Nothing => nan,
    };
    let overflow = if infinities && !finite { top << fb } else { largest };
    if x.is_infinite() {
        return sign | if !infinities && !finite { nan } else { overflow };
    }
    let magnitude = x.abs();
    if magnitude == 0.0 {
        return sign;
    }
    let bias = (1i32 << (eb - 1)) - 1;
    let bits = magnitude.to_bits();
    let raw = (bits >> 52) as i32;
    let (mut e, mut m) = (raw - 1023, bits & ((1 << 52) - 1));
    if raw == 0 {
        let shift = m.leading_zeros() as i32 - 11;
        m <<= shift;
        e = -1022 - shift;
    } else {
        m |= 1 << 52;
    }
    // Value = m * 2^(e-52). The unit of the last place kept:
    let unit = e.max(1 - bias) - i32::from(fb);
    let drop = unit - (e - 52);
    let (kept, rest, half) = if drop > 63 {
        (0, 1u64, 2u64)
    } else {
        (m >> drop, m & ((1u64 << drop) - 1), 1u64 << (drop - 1))
    };
    let up = match mode {
        Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
        Rounding::NearestAway => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => sign != 0 && rest != 0,
        Rounding::Up => sign == 0 && rest != 0,
    };
    let kept = kept + u64::from(up);
    // The carry of the rounding runs into the exponent by itself.
    let base = if e < 1 - bias { 0 } else { ((e + bias) as u64 - 1) << fb };
    let encoded = base + kept;
    if encoded > u64::from(largest) {
        let stays = match mode {
            Rounding::Zero => true,
            Rounding::Down => sign == 0,
            Rounding::Up => sign != 0,
            _ => false,
        };
        if !infinities && !finite {
            return sign | if stays { largest } else { nan };
        }
        return sign | if stays { largest } else { overflow };
    }
    sign | encoded as u32
}

/// The value of the low bits of `bits` in `format`; exact.
pub(crate) fn widen(bits: u32, format: Format) -> f64 {
    let Format { exponent: eb, fraction: fb, special } = format;
    let infinities = special == Special::Ieee;
    let negative = bits >> (eb + fb) & 1 == 1;
    let top = (1u32 << eb) - 1;
    let (e, f) = (bits >> fb & top, bits & ((1 << fb) - 1));
    let bias = (1i32 << (eb - 1)) - 1;
    let magnitude = if e == top && infinities {
        if f == 0 { f64::INFINITY } else { f64::NAN }
    } else if special == Special::Nan && e == top && f == (1 << fb) - 1 {
        f64::NAN
    } else if e == 0 {
        f64::from(f) * power(1 - bias - i32::from(fb))
    } else {
        f64::from(f | 1 << fb) * power(e as i32 - bias - i32::from(fb))
    };
    if negative { -magnitude } else { magnitude }
}

/// The power of two next to `x` without its sign, as a biased exponent: below, or above if `up`.
pub(crate) fn to_power(x: f64, up: bool) -> u32 {
    if x.is_nan() {
        return 0xFF;
    }
    let x = x.abs();
    if x.is_infinite() {
        return 0xFE;
    }
    let smallest = f64::from_bits((1023 - 127) << 52);
    if x <= smallest {
        return 0;
    }
    let bits = x.to_bits();
    let exact = bits & ((1 << 52) - 1) == 0;
    let exponent = (bits >> 52) as i32 - 1023 + i32::from(up && !exact);
    (exponent + 127).clamp(0, 0xFE) as u32
}

/// The value of the low 8 bits as a power of two.
pub(crate) fn from_power(bits: u32) -> f64 {
    crate::tcgen05::element::ue8m0_to_f64(bits as u8)
}

/// 2 to the `e`, for exponents that `f64` has.
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

pub(crate) fn f16_to_f32(bits: u32) -> f32 {
    let sign = (bits & 0x8000) << 16;
    let rest = bits & 0x7FFF;
    if rest >= 0x7C00 {
        return f32::from_bits(sign | 0x7F80_0000 | (rest & 0x3FF) << 13);
    }
    // 2^112 moves the bias of the exponent, subnormals included.
    f32::from_bits(f32::to_bits(f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000)) | sign)
}

pub(crate) fn bf16_to_f32(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

pub(crate) fn f32_to_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    if x.is_nan() {
        return 0x7FFF;
    }
    (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
}

/// The value as `f64`; exact. `bits` holds the format in its low bits.
pub(crate) fn to_f64(bits: u64, ty: Float) -> f64 {
    match ty {
        Float::F16 => f64::from(f16_to_f32(bits as u32 & 0xFFFF)),
        Float::Bf16 => f64::from(bf16_to_f32(bits as u32 & 0xFFFF)),
        Float::F32 => f64::from(f32::from_bits(bits as u32)),
        Float::F64 => f64::from_bits(bits),
    }
}

/// Rounds to `ty`.
pub(crate) fn from_f64(x: f64, ty: Float, mode: Rounding) -> u64 {
    match ty {
        Float::F16 => u64::from(narrow(x, Format::F16, mode, false)),
        Float::Bf16 => u64::from(narrow(x, Format::BF16, mode, false)),
        Float::F32 if mode == Rounding::NearestEven => {
            let y = x as f32;
            u64::from(if y.is_nan() { F32_NAN } else { y.to_bits() })
        }
        Float::F32 => u64::from(narrow(x, Format::F32, mode, false)),
        Float::F64 => x.to_bits(),
    }
}

/// `sum` with its last bit set if `error`, the exact rest, is not zero; towards the exact value.
fn to_odd(sum: f64, error: f64) -> f64 {
    if error == 0.0 || !sum.is_finite() || !error.is_finite() {
        return sum;
    }
    let bits = sum.to_bits();
    if bits & 1 == 1 {
        return sum;
    }
    // An even sum is one step away from the odd neighbour that lies towards the error.
    let away = (sum > 0.0) == (error > 0.0);
    if sum == 0.0 { error } else { f64::from_bits(if away { bits + 1 } else { bits - 1 }) }
}

/// `a + b`, rounded to odd.
fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let v = sum - a;
    let error = (a - (sum - v)) + (b - v);
    to_odd(sum, error)
}

/// An exact zero sum of opposite signs is -0 when rounding down.
fn signed_zero(sum: f64, a: f64, b: f64, mode: Rounding) -> f64 {
    if sum == 0.0 && mode == Rounding::Down && a.is_sign_negative() != b.is_sign_negative() {
        return -0.0;
    }
    sum
}

/// One operation in a format of at most 32 bits, through `f64`.
pub(crate) fn narrow_float(f: FloatFn, ty: Float, mode: Rounding, a: u32, b: u32, c: u32) -> u32 {
    let (sign, mask) = match ty {
        Float::F32 => (0x8000_0000, u32::MAX),
        _ => (0x8000, 0xFFFF),
    };
    match f {
        FloatFn::Neg => return (a ^ sign) & mask,
        FloatFn::Abs => return a & !sign & mask,
        // The sign comes from the first operand.
        FloatFn::CopySign => return (b & !sign | a & sign) & mask,
        FloatFn::Min3 | FloatFn::Max3 | FloatFn::Min3Nan | FloatFn::Max3Nan => {
            let first = narrow_float(f.of_two(), ty, mode, a, b, 0);
            return narrow_float(f.of_two(), ty, mode, first, c, 0);
        }
        _ if f.is_xor_sign() => {
            let result = narrow_float(f.of_two(), ty, mode, a & !sign & mask, b & !sign & mask, 0);
            let is_nan = to_f64(u64::from(result), ty).is_nan();
            return if is_nan { result } else { result & !sign | (a ^ b) & sign };
        }
        _ => {}
    }
    let [x, y, z] = [a, b, c].map(|v| to_f64(u64::from(v), ty));
    let result = match f {
        FloatFn::Add => signed_zero(add_odd(x, y), x, y, mode),
        FloatFn::Sub => signed_zero(add_odd(x, -y), x, -y, mode),
        FloatFn::Mul => x * y,
        FloatFn::Fma => signed_zero(add_odd(x * y, z), x * y, z, mode),
        FloatFn::Div => {
            let q = x / y;
            // The exact remainder's sign tells on which side of the quotient the value lies.
            let r = q.mul_add(-y, x);
            to_odd(q, if y < 0.0 { -r } else { r })
        }
        FloatFn::Sqrt => {
            let q = x.sqrt();
            to_odd(q, q.mul_add(-q, x))
        }
        FloatFn::Min | FloatFn::Max | FloatFn::MinNan | FloatFn::MaxNan => {
            return min_max(f, x, y, || from_f64(f64::NAN, ty, mode), (a.into(), b.into())) as u32;
        }
        _ => approximate(f, x),
    };
    from_f64(result, ty, mode) as u32
}

fn min_max(f: FloatFn, x: f64, y: f64, nan: impl Fn() -> u64, (a, b): (u64, u64)) -> u64 {
    let propagate = matches!(f, FloatFn::MinNan | FloatFn::MaxNan);
    if x.is_nan() && y.is_nan() || propagate && (x.is_nan() || y.is_nan()) {
        return nan();
    }
    if x.is_nan() {
        return b;
    }
    if y.is_nan() {
        return a;
    }
    let first = match f {
        FloatFn::Min | FloatFn::MinNan => x < y || x == y && x.is_sign_negative(),
        _ => x > y || x == y && x.is_sign_positive(),
    };
    if first { a } else { b }
}

fn approximate(f: FloatFn, x: f64) -> f64 {
    match f {
        FloatFn::Rsqrt => 1.0 / x.sqrt(),
        FloatFn::Rcp => 1.0 / x,
        FloatFn::Ex2 => x.exp2(),
        FloatFn::Lg2 => x.log2(),
        FloatFn::Sin => x.sin(),
        FloatFn::Cos => x.cos(),
        FloatFn::Tanh => x.tanh(),
        FloatFn::Sqrt => x.sqrt(),
        _ => x,
    }
}

/// One operation in double precision with any rounding: the nearest result, and one step to the
/// side on which the exact one lies.
pub(crate) fn double_rounded(f: FloatFn, mode: Rounding, a: u64, b: u64, c: u64) -> u64 {
    let nearest = double(f, a, b, c);
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    let r = f64::from_bits(nearest);
    if mode == Rounding::NearestEven || r.is_nan() {
        return nearest;
    }
    // The sign of what the exact result exceeds the nearest by.
    let sum = |x: f64, y: f64| {
        let s = x + y;
        let v = s - x;
        (s, (x - (s - v)) + (y - v))
    };
    let rest = match f {
        FloatFn::Add => sum(x, y).1,
        FloatFn::Sub => sum(x, -y).1,
        FloatFn::Mul => x.mul_add(y, -r),
        FloatFn::Fma => {
            let p = x * y;
            let low = x.mul_add(y, -p);
            let (s, e) = sum(p, z);
            let (t, u) = sum(e, low);
            let (v, w) = sum(s - r, t);
            if v != 0.0 { v } else { w + u }
        }
        FloatFn::Div => {
            let rest = (-r).mul_add(y, x);
            if y < 0.0 { -rest } else { rest }
        }
        FloatFn::Sqrt => (-r).mul_add(r, x),
        FloatFn::Rcp => {
            let rest = (-r).mul_add(x, 1.0);
            if x < 0.0 { -rest } else { rest }
        }
        _ => return nearest,
    };
    let zero = match f {
        FloatFn::Add => x.is_sign_negative() != y.is_sign_negative(),
        FloatFn::Sub => x.is_sign_negative() == y.is_sign_negative(),
        FloatFn::Fma => (x * y).is_sign_negative() != z.is_sign_negative(),
        _ => false,
    };
    if r == 0.0 && rest == 0.0 {
        return if zero && mode == Rounding::Down { 1 << 63 } else { nearest };
    }
    if r.is_infinite() {
        let exact = [x, y, z].iter().any(|v| v.is_infinite()) || f == FloatFn::Div && y == 0.0;
        let back = match mode {
            Rounding::Zero => true,
            Rounding::Down => r > 0.0,
            Rounding::Up => r < 0.0,
            _ => false,
        };
        return if back && !exact { nearest - 1 } else { nearest };
    }
    let step = match mode {
        Rounding::Down => rest < 0.0,
        Rounding::Up => rest > 0.0,
        Rounding::Zero => rest != 0.0 && (rest < 0.0) == (r > 0.0) && r != 0.0,
        _ => false,
    };
    if !step {
        return nearest;
    }
    if rest < 0.0 { r.next_down().to_bits() } else { r.next_up().to_bits() }
}

/// One operation in double precision, rounded to nearest even.
pub(crate) fn double(f: FloatFn, a: u64, b: u64, c: u64) -> u64 {
    let sign = 1 << 63;
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    match f {
        FloatFn::Neg => a ^ sign,
        FloatFn::Abs => a & !sign,
        FloatFn::CopySign => b & !sign | a & sign,
        FloatFn::Add => (x + y).to_bits(),
        FloatFn::Sub => (x - y).to_bits(),
        FloatFn::Mul => (x * y).to_bits(),
        FloatFn::Fma => x.mul_add(y, z).to_bits(),
        FloatFn::Div => (x / y).to_bits(),
        FloatFn::Min | FloatFn::Max | FloatFn::MinNan | FloatFn::MaxNan => {
            min_max(f, x, y, || 0x7FFF_FFFF_FFFF_FFFF, (a, b))
        }
        FloatFn::Min3 | FloatFn::Max3 | FloatFn::Min3Nan | FloatFn::Max3Nan => {
            double(f.of_two(), double(f.of_two(), a, b, 0), c, 0)
        }
        _ => approximate(f, x).to_bits(),
    }
}

/// One operation in single precision, rounded to nearest even, NaN canonical.
#[inline(always)]
pub(crate) fn single(f: impl Fn(f32, f32, f32) -> f32, a: u32, b: u32, c: u32) -> u32 {
    let y = f(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
    if y.is_nan() { F32_NAN } else { y.to_bits() }
}

/// A subnormal becomes a zero of its sign.
pub(crate) fn flush(bits: u32) -> u32 {
    if bits & 0x7F80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// The same of a format of at most 32 bits.
pub(crate) fn flush_narrow(bits: u32, ty: Float) -> u32 {
    let (exponent, sign) = match ty {
        Float::F16 => (0x7C00, 0x8000),
        Float::Bf16 => (0x7F80, 0x8000),
        _ => return flush(bits),
    };
    if bits & exponent == 0 { bits & sign } else { bits }
}

/// Clamps to [0, 1]; NaN becomes 0.
pub(crate) fn saturate(bits: u64, ty: Float) -> u64 {
    let x = to_f64(bits, ty);
    if x.is_nan() || x <= 0.0 {
        0
    } else if x >= 1.0 {
        from_f64(1.0, ty, Rounding::Zero)
    } else {
        bits
    }
}

pub(crate) fn compare_float(cmp: Compare, x: f64, y: f64) -> bool {
    let nan = x.is_nan() || y.is_nan();
    match cmp {
        Compare::Eq => x == y,
        Compare::Ne => !nan && x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
        Compare::Gt => x > y,
        Compare::Ge => x >= y,
        Compare::Equ => nan || x == y,
        Compare::Neu => nan || x != y,
        Compare::Ltu => nan || x < y,
        Compare::Leu => nan || x <= y,
        Compare::Gtu => nan || x > y,
        Compare::Geu => nan || x >= y,
        Compare::Num => !nan,
        Compare::Nan => nan,
    }
}

pub(crate) fn round_integral(x: f64, mode: Rounding) -> f64 {
    match mode {
        Rounding::NearestEven => x.round_ties_even(),
        Rounding::NearestAway => x.round(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
    }
}

/// A float to an integer of `bits`, clamped to its range; NaN becomes 0.
pub(crate) fn float_to_int(x: f64, bits: u8, signed: bool, mode: Rounding) -> u64 {
    let x = round_integral(x, mode);
    if signed {
        let limit = 1i128 << (bits - 1);
        (x as i128).clamp(-limit, limit - 1) as u64
    } else {
        (x as i128).clamp(0, (1i128 << bits) - 1) as u64
    }
}

/// An integer to a float, with one rounding.
pub(crate) fn int_to_float(x: i128, ty: Float, mode: Rounding) -> u64 {
    if mode == Rounding::NearestEven {
        return match ty {
            Float::F64 => (x as f64).to_bits(),
            Float::F32 => u64::from((x as f32).to_bits()),
            _ => from_f64(odd_integer(x), ty, mode),
        };
    }
    if ty == Float::F64 {
        let y = x as f64;
        let exact = y as i128;
        let step = |up: bool| {
            let bits = y.to_bits();
            f64::from_bits(if up == (y > 0.0) { bits + 1 } else { bits - 1 })
        };
        let towards_zero = if x > 0 { exact > x } else { exact < x };
        return match mode {
            Rounding::Zero if towards_zero => step(x < 0),
            Rounding::Down if exact > x => step(false),
            Rounding::Up if exact < x => step(true),
            _ => y,
        }
        .to_bits();
    }
    from_f64(odd_integer(x), ty, mode)
}

fn odd_integer(x: i128) -> f64 {
    let y = x as f64;
    to_odd(y, (x - y as i128) as f64)
}
