//! Arithmetic on the values of single lanes, bit by bit as PTX defines it.
//!
//! Half and bfloat16 arithmetic goes through `f64` with *rounding to odd* where a sum is not
//! exact there: a result rounded to odd carries a sticky bit, so that the final rounding to the
//! narrow format gives what one rounding of the exact result would.

use crate::ir::{Compare, FloatFn, HalfFn, IntFn, PrmtMode};

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

/// An unsigned integer type that stands for one width of register.
pub(crate) trait Word: Copy {
    fn apply(f: IntFn, a: Self, b: Self, c: Self) -> Self;
}

macro_rules! word {
    ($u:ty, $s:ty, $u2:ty, $s2:ty) => {
        impl Word for $u {
            #[inline(always)]
            fn apply(f: IntFn, a: $u, b: $u, c: $u) -> $u {
                let bits = <$u>::BITS;
                let (sa, sb) = (a as $s, b as $s);
                match f {
                    IntFn::Add => a.wrapping_add(b),
                    IntFn::Sub => a.wrapping_sub(b),
                    IntFn::Mul => a.wrapping_mul(b),
                    IntFn::MulHiU => ((a as $u2 * b as $u2) >> bits) as $u,
                    IntFn::MulHiS => ((sa as $s2 * sb as $s2) >> bits) as $u,
                    IntFn::Mad => a.wrapping_mul(b).wrapping_add(c),
                    IntFn::MadHiU => (((a as $u2 * b as $u2) >> bits) as $u).wrapping_add(c),
                    IntFn::MadHiS => (((sa as $s2 * sb as $s2) >> bits) as $u).wrapping_add(c),
                    // Division by zero is not defined; the hardware gives all ones.
                    IntFn::DivU => a.checked_div(b).unwrap_or(<$u>::MAX),
                    IntFn::DivS => {
                        if sb == 0 {
                            <$u>::MAX
                        } else {
                            sa.wrapping_div(sb) as $u
                        }
                    }
                    IntFn::RemU => a.checked_rem(b).unwrap_or(a),
                    IntFn::RemS => {
                        if sb == 0 {
                            a
                        } else {
                            sa.wrapping_rem(sb) as $u
                        }
                    }
                    IntFn::Neg => sa.wrapping_neg() as $u,
                    IntFn::Abs => sa.wrapping_abs() as $u,
                    IntFn::MinU => a.min(b),
                    IntFn::MinS => sa.min(sb) as $u,
                    IntFn::MaxU => a.max(b),
                    IntFn::MaxS => sa.max(sb) as $u,
                    IntFn::And => a & b,
                    IntFn::Or => a | b,
                    IntFn::Xor => a ^ b,
                    IntFn::Not => !a,
                    IntFn::Cnot => (a == 0) as $u,
                    IntFn::Popc => a.count_ones() as $u,
                    IntFn::Clz => a.leading_zeros() as $u,
                    IntFn::Brev => a.reverse_bits(),
                    IntFn::BfindU => bfind(u64::from(a), bits, false) as $u,
                    IntFn::BfindS => bfind(sa as i64 as u64, bits, true) as $u,
                    IntFn::BfindShiftU => bfind_shift(u64::from(a), bits, false) as $u,
                    IntFn::BfindShiftS => bfind_shift(sa as i64 as u64, bits, true) as $u,
                    IntFn::Lop3(table) => {
                        lop3(u64::from(a), u64::from(b), u64::from(c), table) as $u
                    }
                    IntFn::Prmt(mode) => prmt(a as u32, b as u32, c as u32, mode) as $u,
                    IntFn::SadU => c.wrapping_add(a.abs_diff(b)),
                    IntFn::SadS => c.wrapping_add(sa.abs_diff(sb)),
                    IntFn::AddSatS => sa.saturating_add(sb) as $u,
                    IntFn::SubSatS => sa.saturating_sub(sb) as $u,
                    IntFn::Mul24U => (a & 0xFF_FFFFu32 as $u).wrapping_mul(b & 0xFF_FFFFu32 as $u),
                    IntFn::Mul24S => {
                        let x = |v: $u| ((v as i64) << 40) >> 40;
                        x(a).wrapping_mul(x(b)) as $u
                    }
                    IntFn::Dp4a(x, y) => dot(a as u32, b as u32, c as u32, 4, 0, x, y) as $u,
                    IntFn::Dp2a(high, x, y) => {
                        dot(a as u32, b as u32, c as u32, 2, u32::from(high) * 2, x, y) as $u
                    }
                    IntFn::Fns => find_nth(a as u32, b as u32, c as i32) as $u,
                    IntFn::Bmsk(clamp) => bit_mask(a as u32, b as u32, clamp) as $u,
                    IntFn::Szext(signed, clamp) => {
                        let n = if clamp { (b as u32).min(32) } else { b as u32 & 31 };
                        let keep = ((1u64 << n) - 1) as u32;
                        let fill = signed && n > 0 && a as u32 >> (n - 1) & 1 == 1;
                        (a as u32 & keep | if fill { !keep } else { 0 }) as $u
                    }
                    IntFn::Mul24HiU => {
                        let x = |v: $u| v as u64 & 0xFF_FFFF;
                        ((x(a) * x(b)) >> 16) as $u
                    }
                    IntFn::Mul24HiS => {
                        let x = |v: $u| ((v as i64) << 40) >> 40;
                        ((x(a) * x(b)) >> 16) as $u
                    }
                    IntFn::MadHiSatS => {
                        let high = ((sa as $s2 * sb as $s2) >> bits) as $s;
                        high.saturating_add(c as $s) as $u
                    }
                    IntFn::MinRelu => sa.min(sb).max(0) as $u,
                    IntFn::MaxRelu => sa.max(sb).max(0) as $u,
                    IntFn::AbsDiff(bits, signed, add) => {
                        abs_diff(a as u32, b as u32, c as u32, (bits, signed, add)) as $u
                    }
                    IntFn::Halves(f) => halves(f, a as u32, b as u32) as $u,
                    // The amount of these is 32 bits wide whatever the width; see `shift`.
                    IntFn::Shl
                    | IntFn::ShrU
                    | IntFn::ShrS
                    | IntFn::BfeU
                    | IntFn::BfeS
                    | IntFn::FunnelLeftWrap
                    | IntFn::FunnelLeftClamp
                    | IntFn::FunnelRightWrap
                    | IntFn::FunnelRightClamp => a,
                }
            }
        }
    };
}
word!(u16, i16, u32, i32);
word!(u32, i32, u64, i64);
word!(u64, i64, u128, i128);

/// Functions whose second and third operands are 32 bits wide whatever the width of the first,
/// which is extended to 64 bits. `FunnelX` take `a` as the low and `b` as the high half.
pub(crate) fn shift(f: IntFn, bits: u32, a: u64, b: u32, c: u32) -> u64 {
    let signed = (a << (64 - bits)) as i64 >> (64 - bits);
    match f {
        IntFn::Shl => a.checked_shl(b).filter(|_| b < bits).unwrap_or(0),
        IntFn::ShrU => a.checked_shr(b).filter(|_| b < bits).unwrap_or(0),
        IntFn::ShrS => (signed >> b.min(bits - 1)) as u64,
        IntFn::BfeU | IntFn::BfeS => {
            let (position, length) = (b & 0xFF, c & 0xFF);
            if length == 0 {
                return 0;
            }
            let last = (position + length - 1).min(bits - 1);
            let fill = if f == IntFn::BfeS && a >> last & 1 == 1 { u64::MAX } else { 0 };
            let kept = if position >= bits { 0 } else { bits.min(position + length) - position };
            let field = if position >= 64 { 0 } else { a >> position };
            let mask = if kept >= 64 { u64::MAX } else { (1u64 << kept) - 1 };
            field & mask | fill & !mask
        }
        IntFn::FunnelLeftWrap | IntFn::FunnelLeftClamp => {
            let n = if f == IntFn::FunnelLeftWrap { c & 31 } else { c.min(32) };
            let both = u64::from(b) << 32 | a & 0xFFFF_FFFF;
            (both << n) >> 32
        }
        IntFn::FunnelRightWrap | IntFn::FunnelRightClamp => {
            let n = if f == IntFn::FunnelRightWrap { c & 31 } else { c.min(32) };
            let both = u64::from(b) << 32 | a & 0xFFFF_FFFF;
            (both >> n) & 0xFFFF_FFFF
        }
        _ => a,
    }
}

/// `bfi`: the low `length` bits of `a` into `b` at `position`.
pub(crate) fn bfi(bits: u32, a: u64, b: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xFF, length & 0xFF);
    if length == 0 || position >= bits {
        return b;
    }
    let length = length.min(bits - position);
    let mask = if length >= 64 { u64::MAX } else { ((1u64 << length) - 1) << position };
    b & !mask | (a << position) & mask
}

/// `dp4a` and `dp2a`: bytes of `a`, or halves if there are two terms, times bytes of `b`.
fn dot(a: u32, b: u32, c: u32, terms: u32, first: u32, signed_a: bool, signed_b: bool) -> u32 {
    let part = |v: u32, i: u32, bits: u32, signed: bool| {
        let v = v << (32 - bits * (i + 1));
        if signed { v as i32 >> (32 - bits) } else { (v >> (32 - bits)) as i32 }
    };
    (0..terms).fold(c, |sum, i| {
        let x = part(a, i, 32 / terms, signed_a);
        sum.wrapping_add(x.wrapping_mul(part(b, first + i, 8, signed_b)) as u32)
    })
}

/// `fns`: the position of the `offset`-th set bit from `base` on.
fn find_nth(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == 0 {
        return if mask >> (base & 31) & 1 == 1 { base } else { u32::MAX };
    }
    let step = offset.signum();
    let (mut at, mut left) = (base as i32, offset.abs());
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += step;
    }
    u32::MAX
}

/// `bmsk`: `count` ones from bit `from` on.
fn bit_mask(from: u32, count: u32, clamp: bool) -> u32 {
    let (from, count) = if clamp { (from.min(32), count.min(32)) } else { (from & 31, count & 31) };
    ((((1u64 << count) - 1) << from) & 0xFFFF_FFFF) as u32
}

/// The differences of the parts of two words, without signs; side by side, or their sum and `c`.
fn abs_diff(a: u32, b: u32, c: u32, (bits, signed, add): (u8, bool, bool)) -> u32 {
    let bits = u32::from(bits);
    let part = |v: u32, i: u32| {
        let v = v << (32 - bits * (i + 1));
        if signed { i64::from(v as i32 >> (32 - bits)) } else { i64::from(v >> (32 - bits)) }
    };
    let keep = (1u32 << bits) - 1;
    let one = |i: u32| part(a, i).abs_diff(part(b, i)) as u32 & keep;
    let parts = 0..32 / bits;
    if add {
        parts.fold(c, |sum, i| sum.wrapping_add(one(i)))
    } else {
        parts.fold(0, |all, i| all | one(i) << (bits * i))
    }
}

/// Two numbers of 16 bits.
fn halves(f: HalfFn, a: u32, b: u32) -> u32 {
    let one = |a: u16, b: u16| {
        let (sa, sb) = (a as i16, b as i16);
        match f {
            HalfFn::Add => a.wrapping_add(b),
            HalfFn::Sub => a.wrapping_sub(b),
            HalfFn::AddSatU => a.saturating_add(b),
            HalfFn::AddSatS => sa.saturating_add(sb) as u16,
            HalfFn::SubSatU => a.saturating_sub(b),
            HalfFn::SubSatS => sa.saturating_sub(sb) as u16,
            HalfFn::MinU => a.min(b),
            HalfFn::MaxU => a.max(b),
            HalfFn::MinS => sa.min(sb) as u16,
            HalfFn::MaxS => sa.max(sb) as u16,
            HalfFn::MinRelu => sa.min(sb).max(0) as u16,
            HalfFn::MaxRelu => sa.max(sb).max(0) as u16,
            HalfFn::Neg => a.wrapping_neg(),
        }
    };
    u32::from(one(a as u16, b as u16)) | u32::from(one((a >> 16) as u16, (b >> 16) as u16)) << 16
}

fn bfind(a: u64, bits: u32, signed: bool) -> u32 {
    let a = if signed && (a as i64) < 0 { !a } else { a };
    let a = if bits == 32 { a & 0xFFFF_FFFF } else { a };
    if a == 0 { u32::MAX } else { 63 - a.leading_zeros() }
}

fn bfind_shift(a: u64, bits: u32, signed: bool) -> u32 {
    match bfind(a, bits, signed) {
        u32::MAX => u32::MAX,
        found => bits - 1 - found,
    }
}

fn lop3(a: u64, b: u64, c: u64, table: u8) -> u64 {
    (0..8).filter(|i| table >> i & 1 == 1).fold(0, |sum, i: u32| {
        let pick = |v: u64, bit: u32| if i >> bit & 1 == 1 { v } else { !v };
        sum | pick(a, 2) & pick(b, 1) & pick(c, 0)
    })
}

fn prmt(a: u32, b: u32, c: u32, mode: PrmtMode) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let n = c & 3;
    let selectors: [u32; 4] = match mode {
        PrmtMode::Index => [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15],
        PrmtMode::F4e => [n, n + 1, n + 2, n + 3],
        PrmtMode::B4e => [n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7],
        PrmtMode::Rc8 => [n; 4],
        PrmtMode::Ecl => [n, n.max(1), n.max(2), 3],
        PrmtMode::Ecr => [0, n.min(1), n.min(2), n],
        PrmtMode::Rc16 => {
            let low = (n & 1) * 2;
            [low, low + 1, low, low + 1]
        }
    };
    (0..4).fold(0, |result, i| {
        let byte = (both >> (8 * (selectors[i] & 7))) as u8;
        let byte = if selectors[i] & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result | u32::from(byte) << (8 * i)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_formats_round_as_their_neighbours_say() {
        // Every f16: widening and narrowing gives it back; halfway goes to even.
        for bits in 0..0x7C00u32 {
            let x = widen(bits, Format::F16);
            assert_eq!(f64::from(f16_to_f32(bits)), x);
            assert_eq!(narrow(x, Format::F16, Rounding::NearestEven, false), bits);
            if bits + 1 < 0x7C00 {
                let middle = (x + widen(bits + 1, Format::F16)) / 2.0;
                let even = if bits & 1 == 0 { bits } else { bits + 1 };
                assert_eq!(narrow(middle, Format::F16, Rounding::NearestEven, false), even);
                assert_eq!(narrow(middle, Format::F16, Rounding::Zero, false), bits);
                assert_eq!(narrow(-middle, Format::F16, Rounding::Down, false), 0x8001 + bits);
            }
        }
        assert_eq!(narrow(65520.0, Format::F16, Rounding::NearestEven, false), 0x7C00);
        assert_eq!(narrow(65519.9, Format::F16, Rounding::NearestEven, false), 0x7BFF);
        assert_eq!(narrow(1e9, Format::F16, Rounding::NearestEven, true), 0x7BFF);
        assert_eq!(narrow(448.0, Format::E4M3, Rounding::NearestEven, true), 0x7E);
        assert_eq!(narrow(1e9, Format::E4M3, Rounding::NearestEven, true), 0x7E);
        assert_eq!(narrow(1e-30, Format::F16, Rounding::Up, false), 1);
    }

    #[test]
    fn single_precision_agrees_with_the_general_rounding() {
        for bits in (0..u32::MAX - 0xFFFF).step_by(104_729) {
            let x = f64::from(f32::from_bits(bits)) * 1.000_000_07;
            if x.is_finite() {
                let want = (x as f32).to_bits();
                assert_eq!(narrow(x, Format::F32, Rounding::NearestEven, false), want, "{x:e}");
            }
            let y = f32::from_bits(bits);
            if !y.is_nan() {
                let want = narrow(f64::from(y), Format::BF16, Rounding::NearestEven, false);
                assert_eq!(f32_to_bf16(y), want, "{y:e}");
            }
        }
    }

    #[test]
    fn directed_rounding_brackets_the_exact_result() {
        let one = 1.0f32.to_bits();
        let tiny = 1e-30f32.to_bits();
        let run = |f, mode, a, b, c| narrow_float(f, Float::F32, mode, a, b, c);
        assert_eq!(run(FloatFn::Add, Rounding::Up, one, tiny, 0), one + 1);
        assert_eq!(run(FloatFn::Add, Rounding::Zero, one, tiny, 0), one);
        assert_eq!(run(FloatFn::Sub, Rounding::Down, one, tiny, 0), one - 1);
        let three = 3.0f32.to_bits();
        let third = (1.0f32 / 3.0).to_bits();
        assert_eq!(run(FloatFn::Div, Rounding::NearestEven, one, three, 0), third);
        assert_eq!(run(FloatFn::Div, Rounding::Up, one, three, 0), third);
        assert_eq!(run(FloatFn::Div, Rounding::Down, one, three, 0), third - 1);
        assert_eq!(run(FloatFn::Sub, Rounding::Down, one, one, 0), 0x8000_0000);
    }

    #[test]
    fn half_fma_rounds_once() {
        // 1 + 2^-11 lies halfway between neighbours; a sticky 2^-24 below decides upwards.
        let f16 = |x: f64| narrow(x, Format::F16, Rounding::NearestEven, false);
        let run = |a, b, c| {
            narrow_float(FloatFn::Fma, Float::F16, Rounding::NearestEven, f16(a), f16(b), f16(c))
        };
        assert_eq!(run(1.0, 2f64.powi(-11), 1.0), f16(1.0));
        assert_eq!(run(1.0 + 2f64.powi(-10), 2f64.powi(-11), 1.0), f16(1.0) + 1);
    }

    #[test]
    fn bit_fields() {
        assert_eq!(shift(IntFn::BfeU, 32, 0xABCD_1234, 8, 12), 0xD12);
        assert_eq!(shift(IntFn::BfeS, 32, 0xABCD_1234, 16, 8) as u32, 0xFFFF_FFCD);
        assert_eq!(shift(IntFn::BfeS, 32, 0x8000_0000, 28, 16) as u32, 0xFFFF_FFF8);
        assert_eq!(shift(IntFn::BfeU, 64, u64::MAX, 60, 20), 0xF);
        assert_eq!(bfi(32, 0x1F, 0xFFFF_0000, 4, 4), 0xFFFF_00F0);
        assert_eq!(bfind(0x0010_0000, 32, false), 20);
        assert_eq!(bfind(0, 32, false), u32::MAX);
        assert_eq!(bfind(-1i64 as u64, 32, true), u32::MAX);
        assert_eq!(bfind_shift(0x0010_0000, 32, false), 11);
        assert_eq!(shift(IntFn::FunnelLeftWrap, 32, 0x8000_0000, 1, 1), 3);
        assert_eq!(shift(IntFn::FunnelRightClamp, 32, 0x8000_0000, 1, 33), 1);
        assert_eq!(shift(IntFn::ShrS, 32, 0x8000_0000, 40, 0) as u32, u32::MAX);
        assert_eq!(shift(IntFn::Shl, 32, 1, 32, 0), 0);
    }

    #[test]
    fn byte_permutation_and_logic() {
        let (a, b) = (0x3322_1100, 0x7766_5544);
        assert_eq!(prmt(a, b, 0x0123, PrmtMode::Index), 0x0011_2233);
        assert_eq!(prmt(a, b, 0x7610, PrmtMode::Index), 0x7766_1100);
        assert_eq!(prmt(0x0000_0080, 0, 0x8, PrmtMode::Index), 0x8080_80FF);
        assert_eq!(prmt(a, b, 1, PrmtMode::F4e), 0x4433_2211);
        assert_eq!(prmt(a, b, 0, PrmtMode::B4e), 0x5566_7700);
        assert_eq!(prmt(a, b, 1, PrmtMode::Rc16), 0x3322_3322);
        assert_eq!(lop3(0b1100, 0b1010, 0b1111, 0x80) & 15, 0b1000);
        assert_eq!(lop3(0b1100, 0b1010, 0b0110, 0x96) & 15, 0b1100 ^ 0b1010 ^ 0b0110);
    }

    #[test]
    fn integers_to_floats_with_every_rounding() {
        let x = (1i128 << 40) + 1;
        let low = (2f32.powi(40)).to_bits();
        assert_eq!(int_to_float(x, Float::F32, Rounding::NearestEven) as u32, low);
        assert_eq!(int_to_float(x, Float::F32, Rounding::Up) as u32, low + 1);
        assert_eq!(int_to_float(-x, Float::F32, Rounding::Down) as u32, (low + 1) | (1 << 31));
        let y = i128::from(u64::MAX);
        assert_eq!(int_to_float(y, Float::F64, Rounding::Zero), 2f64.powi(64).to_bits() - 1);
        assert_eq!(int_to_float(y, Float::F64, Rounding::Up), 2f64.powi(64).to_bits());
        assert_eq!(float_to_int(f64::NAN, 32, true, Rounding::Zero), 0);
        assert_eq!(float_to_int(3e9, 32, true, Rounding::Zero), 0x7FFF_FFFF);
        assert_eq!(float_to_int(-2.5, 32, true, Rounding::NearestEven) as i64, -2);
        assert_eq!(float_to_int(-1.0, 8, false, Rounding::Zero), 0);
    }
}
