//! Integers: words of 16, 32 and 64 bits, and what is inside them.

use crate::ir::{HalfFn, IntFn, PrmtMode};

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
}
