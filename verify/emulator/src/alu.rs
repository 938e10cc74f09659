//! Arithmetic instructions on whole warps: every lane is computed, the mask decides what is kept.

use crate::ir::*;
use crate::value::{self, Float, Format, Rounding, Word};
use crate::warp::{Path, Warp};
use crate::world::World;

/// Runs the closure for every lane; a loop that the compiler turns into vector instructions.
#[inline(always)]
fn each<T>(f: impl Fn(usize) -> T) -> [T; LANES] {
    std::array::from_fn(f)
}

macro_rules! hot {
    ($f:expr, $t:ty, $a:ident, $b:ident, $c:ident, [$($hot:ident),*]) => {
        match $f {
            $(IntFn::$hot => each(|i| <$t>::apply(IntFn::$hot, $a[i], $b[i], $c[i])),)*
            f => cold(f, $a, $b, $c),
        }
    };
}

#[inline(never)]
fn cold<T: Word>(f: IntFn, a: &[T; LANES], b: &[T; LANES], c: &[T; LANES]) -> [T; LANES] {
    each(|i| T::apply(f, a[i], b[i], c[i]))
}

fn is_shift(f: IntFn) -> bool {
    matches!(
        f,
        IntFn::Shl
            | IntFn::ShrU
            | IntFn::ShrS
            | IntFn::BfeU
            | IntFn::BfeS
            | IntFn::FunnelLeftWrap
            | IntFn::FunnelLeftClamp
            | IntFn::FunnelRightWrap
            | IntFn::FunnelRightClamp
    )
}

#[inline(never)]
fn int32(f: IntFn, a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    match f {
        IntFn::Shl => each(|i| if b[i] < 32 { a[i] << b[i] } else { 0 }),
        IntFn::ShrU => each(|i| if b[i] < 32 { a[i] >> b[i] } else { 0 }),
        IntFn::ShrS => each(|i| ((a[i] as i32) >> b[i].min(31)) as u32),
        f if is_shift(f) => each(|i| value::shift(f, 32, a[i].into(), b[i], c[i]) as u32),
        f => hot!(
            f,
            u32,
            a,
            b,
            c,
            [Add, Sub, Mul, Mad, And, Or, Xor, Not, Neg, MinU, MinS, MaxU, MaxS]
        ),
    }
}

#[inline(never)]
fn int64(f: IntFn, a: &Lanes64, b: &Lanes64, c: &Lanes64) -> Lanes64 {
    match f {
        IntFn::Shl => each(|i| if b[i] as u32 >= 64 { 0 } else { a[i] << (b[i] as u32) }),
        IntFn::ShrU => each(|i| if b[i] as u32 >= 64 { 0 } else { a[i] >> (b[i] as u32) }),
        f if is_shift(f) => each(|i| value::shift(f, 64, a[i], b[i] as u32, c[i] as u32)),
        f => hot!(f, u64, a, b, c, [Add, Sub, Mul, Mad, And, Or, Xor, Not]),
    }
}

#[inline(never)]
fn int16(f: IntFn, a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    if is_shift(f) {
        return each(|i| value::shift(f, 16, (a[i] & 0xFFFF).into(), b[i], c[i]) as u32 & 0xFFFF);
    }
    let cut = |v: &Lanes32| v.map(|x| x as u16);
    cold::<u16>(f, &cut(a), &cut(b), &cut(c)).map(u32::from)
}

fn fma_lanes(a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    each(|i| value::single(f32::mul_add, a[i], b[i], c[i]))
}

/// `mul_add` is a library call unless the compiler may use the processor's instruction.
#[cfg(target_arch = "x86_64")]
fn fma(a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    #[target_feature(enable = "fma,avx2")]
    fn native(a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
        // Not `each`: only what stands in this function is compiled for these features.
        let mut result = [0; LANES];
        for i in 0..LANES {
            let y = f32::from_bits(a[i]).mul_add(f32::from_bits(b[i]), f32::from_bits(c[i]));
            result[i] = if y.is_nan() { 0x7FFF_FFFF } else { y.to_bits() };
        }
        result
    }
    if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has both features.
        return unsafe { native(a, b, c) };
    }
    fma_lanes(a, b, c)
}

#[cfg(not(target_arch = "x86_64"))]
fn fma(a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    fma_lanes(a, b, c)
}

#[inline(never)]
fn single(f: FloatFn, r: Rounding, a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    if r != Rounding::NearestEven {
        return each(|i| value::narrow_float(f, Float::F32, r, a[i], b[i], c[i]));
    }
    match f {
        FloatFn::Add => each(|i| value::single(|x, y, _| x + y, a[i], b[i], 0)),
        FloatFn::Sub => each(|i| value::single(|x, y, _| x - y, a[i], b[i], 0)),
        FloatFn::Mul => each(|i| value::single(|x, y, _| x * y, a[i], b[i], 0)),
        FloatFn::Fma => fma(a, b, c),
        FloatFn::Div => each(|i| value::single(|x, y, _| x / y, a[i], b[i], 0)),
        FloatFn::Sqrt => each(|i| value::single(|x, _, _| x.sqrt(), a[i], 0, 0)),
        FloatFn::Neg => a.map(|x| x ^ 0x8000_0000),
        FloatFn::Abs => a.map(|x| x & 0x7FFF_FFFF),
        f => each(|i| value::narrow_float(f, Float::F32, r, a[i], b[i], c[i])),
    }
}

impl World<'_> {
    #[inline(always)]
    pub(crate) fn int(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (IntFn, Width, Dst, [Src; 3]),
    ) {
        let (f, w, d, [a, b, c]) = op;
        let frame = &path.frame;
        match w {
            Width::W64 => {
                let a = self.fetch64(warp, frame, a);
                let (b, c) = (self.fetch64(warp, frame, b), self.fetch64(warp, frame, c));
                let result = int64(f, &a, &b, &c);
                warp.regs.put64(frame, d, mask, &result);
            }
            w => {
                let a = self.fetch32(warp, frame, a);
                let (b, c) = (self.fetch32(warp, frame, b), self.fetch32(warp, frame, c));
                let result =
                    if w == Width::W32 { int32(f, &a, &b, &c) } else { int16(f, &a, &b, &c) };
                warp.regs.put32(frame, d, mask, &result);
            }
        }
    }

    pub(crate) fn wide(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (bool, Width, Dst, Src, Src, Option<Src>),
    ) {
        let (signed, w, d, a, b, c) = op;
        let frame = &path.frame;
        if w == Width::W64 {
            return self.wide_128(warp, path, mask, op);
        }
        let (a, b) = (self.fetch32(warp, frame, a), self.fetch32(warp, frame, b));
        let product = match (w, signed) {
            (Width::W16, true) => {
                each(|i| (i64::from(a[i] as i16) * i64::from(b[i] as i16)) as u64)
            }
            (Width::W16, false) => each(|i| u64::from(a[i] & 0xFFFF) * u64::from(b[i] & 0xFFFF)),
            (_, true) => each(|i| (i64::from(a[i] as i32) * i64::from(b[i] as i32)) as u64),
            (_, false) => each(|i| u64::from(a[i]) * u64::from(b[i])),
        };
        let sum = match c {
            Some(c) => {
                let c = self.fetch64(warp, frame, c);
                each(|i| product[i].wrapping_add(c[i]))
            }
            None => product,
        };
        warp.regs.put64(frame, d, mask, &sum);
    }

    fn wide_128(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        (signed, _, d, a, b, _): (bool, Width, Dst, Src, Src, Option<Src>),
    ) {
        let frame = path.frame;
        let (a, b) = (self.fetch64(warp, &frame, a), self.fetch64(warp, &frame, b));
        let product = each(|i| {
            if signed {
                (i128::from(a[i] as i64) * i128::from(b[i] as i64)) as u128
            } else {
                u128::from(a[i]) * u128::from(b[i])
            }
        });
        if let Dst::R128(slot) = d {
            let (low, high) = (product.map(|p| p as u64), product.map(|p| (p >> 64) as u64));
            warp.regs.put64(&frame, Dst::R64(slot), mask, &low);
            warp.regs.put64(&frame, Dst::R64(slot + 1), mask, &high);
        }
    }

    pub(crate) fn carry(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (Width, bool, bool, bool, Dst, Src, Src),
    ) {
        let (w, subtract, carry_in, carry_out, d, a, b) = op;
        let frame = path.frame;
        let bits = 8 * w.bytes();
        let (a, b) = (self.fetch64(warp, &frame, a), self.fetch64(warp, &frame, b));
        let keep = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let old = warp.regs.carry;
        let sum: [u128; LANES] = each(|i| {
            // A subtraction adds the complement, and the flag is the carry of that: what nvcc makes of 128-bit divisions
            // adds it as such.
            let flag = if carry_in { old >> i & 1 == 1 } else { subtract };
            let b = if subtract { !b[i] } else { b[i] };
            u128::from(a[i] & keep) + u128::from(b & keep) + u128::from(flag)
        });
        if carry_out {
            let flags = (0..LANES).fold(0, |f, i| f | ((sum[i] >> bits & 1) as u32) << i);
            warp.regs.carry = old & !mask | flags & mask;
        }
        warp.regs.put64(&frame, d, mask, &sum.map(|s| s as u64 & keep));
    }

    pub(crate) fn mad_carry(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (Width, bool, bool, bool, bool, Dst, &[Src; 3]),
    ) {
        let (w, hi, signed, carry_in, carry_out, d, abc) = op;
        let frame = path.frame;
        let bits = 8 * w.bytes();
        let [a, b, c] = abc.map(|s| self.fetch64(warp, &frame, s));
        let keep = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let old = warp.regs.carry;
        let sum: [u128; LANES] = each(|i| {
            let extend = |v: u64| {
                if signed {
                    i128::from((v << (64 - bits)) as i64 >> (64 - bits)) as u128
                } else {
                    u128::from(v & keep)
                }
            };
            let product = extend(a[i]).wrapping_mul(extend(b[i]));
            let part = if hi { product >> bits } else { product } & u128::from(keep);
            part + u128::from(c[i] & keep) + u128::from(carry_in && old >> i & 1 == 1)
        });
        if carry_out {
            let flags = (0..LANES).fold(0, |f, i| f | ((sum[i] >> bits & 1) as u32) << i);
            warp.regs.carry = old & !mask | flags & mask;
        }
        warp.regs.put64(&frame, d, mask, &sum.map(|s| s as u64 & keep));
    }

    pub(crate) fn bfi(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        w: Width,
        d: Dst,
        abcd: &[Src; 4],
    ) {
        let frame = &path.frame;
        let [a, b, c, e] = abcd.map(|s| self.fetch64(warp, frame, s));
        let bits = 8 * w.bytes();
        let result = each(|i| value::bfi(bits, a[i], b[i], c[i] as u32, e[i] as u32));
        warp.regs.put64(frame, d, mask, &result);
    }

    #[inline(always)]
    pub(crate) fn float(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (FloatFn, Float, Rounding, (bool, Clamp), Dst, [Src; 3]),
    ) {
        let (f, ty, r, (ftz, clamp), d, sources) = op;
        let frame = &path.frame;
        if ty == Float::F64 {
            let [a, b, c] = self.fetch64_all(warp, frame, sources);
            let result = if r == Rounding::NearestEven {
                each(|i| value::double(f, a[i], b[i], c[i]))
            } else {
                each(|i| value::double_rounded(f, r, a[i], b[i], c[i]))
            };
            warp.regs.put64(frame, d, mask, &result);
            return;
        }
        let [mut a, mut b, mut c] = self.fetch32_all(warp, frame, sources);
        let mut result = if ty == Float::F32 {
            if ftz {
                [a, b, c] = [a, b, c].map(|v| v.map(value::flush));
            }
            single(f, r, &a, &b, &c)
        } else {
            each(|i| value::narrow_float(f, ty, r, a[i], b[i], c[i]))
        };
        if ftz && ty == Float::F32 {
            result = result.map(value::flush);
        }
        if clamp != Clamp::Nothing {
            result = result.map(|v| clamped(v, ty, clamp));
        }
        warp.regs.put32(frame, d, mask, &result);
    }

    pub(crate) fn packed(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (FloatFn, Float, Rounding, (bool, Clamp), Dst, [Src; 3]),
    ) {
        let (f, ty, r, (ftz, clamp), d, sources) = op;
        let frame = &path.frame;
        let one =
            |a: u32, b: u32, c: u32| clamped(value::narrow_float(f, ty, r, a, b, c), ty, clamp);
        if ty == Float::F32 {
            let flush = |v: u32| if ftz { value::flush(v) } else { v };
            let [a, b, c] = self.fetch64_all(warp, frame, sources);
            let half = |i: usize, shift: u32| {
                let part = |v: &Lanes64| flush((v[i] >> shift) as u32);
                u64::from(flush(one(part(&a), part(&b), part(&c)))) << shift
            };
            let result = each(|i| half(i, 0) | half(i, 32));
            warp.regs.put64(frame, d, mask, &result);
            return;
        }
        let [a, b, c] = self.fetch32_all(warp, frame, sources);
        let half = |i: usize, shift: u32| {
            let part = |v: &Lanes32| v[i] >> shift & 0xFFFF;
            one(part(&a), part(&b), part(&c)) << shift
        };
        let result = each(|i| half(i, 0) | half(i, 16));
        warp.regs.put32(frame, d, mask, &result);
    }

    /// The lanes whose comparison holds.
    #[inline(always)]
    fn compared(
        &self,
        warp: &Warp,
        path: &Path,
        cmp: Compare,
        ty: Scalar,
        ftz: bool,
        (a, b): (Src, Src),
    ) -> u32 {
        let frame = &path.frame;
        let gather = |holds: &dyn Fn(usize) -> bool| {
            (0..LANES).fold(0u32, |m, i| m | u32::from(holds(i)) << i)
        };
        match ty {
            Scalar::Int(32, signed) => {
                let (a, b) = (self.fetch32(warp, frame, a), self.fetch32(warp, frame, b));
                if signed {
                    compare32(cmp, &a.map(|x| x ^ 1 << 31), &b.map(|x| x ^ 1 << 31))
                } else {
                    compare32(cmp, &a, &b)
                }
            }
            Scalar::Int(bits, signed) => {
                let (a, b) = (self.fetch64(warp, frame, a), self.fetch64(warp, frame, b));
                let shift = 64 - u32::from(bits.max(1));
                let key = |v: u64| (v << shift) ^ if signed { 1 << 63 } else { 0 };
                gather(&|i| {
                    let (x, y) = (key(a[i]), key(b[i]));
                    match cmp {
                        Compare::Eq => x == y,
                        Compare::Ne => x != y,
                        Compare::Lt => x < y,
                        Compare::Le => x <= y,
                        Compare::Gt => x > y,
                        _ => x >= y,
                    }
                })
            }
            Scalar::Float(float) => {
                let (a, b) = (self.fetch64(warp, frame, a), self.fetch64(warp, frame, b));
                let number = |v: u64| {
                    let v =
                        if ftz && float == Float::F32 { value::flush(v as u32).into() } else { v };
                    value::to_f64(v, float)
                };
                gather(&|i| value::compare_float(cmp, number(a[i]), number(b[i])))
            }
            Scalar::Narrow(_) => 0,
        }
    }

    fn combined(&self, warp: &Warp, path: &Path, bits: u32, combine: Option<(BoolFn, Src)>) -> u32 {
        match combine {
            None => bits,
            Some((f, c)) => logic(f, bits, self.fetch_pred(warp, &path.frame, c)),
        }
    }

    #[inline(always)]
    pub(crate) fn setp(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::Setp { cmp, ty, ftz, d, q, a, b, combine } = op else { return };
        let holds = self.compared(warp, path, *cmp, *ty, *ftz, (*a, *b));
        let first = self.combined(warp, path, holds, *combine);
        if *q != Dst::Sink {
            let second = self.combined(warp, path, !holds, *combine);
            warp.regs.put_pred(&path.frame, *q, mask, second);
        }
        warp.regs.put_pred(&path.frame, *d, mask, first);
    }

    pub(crate) fn set(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::Set { cmp, ty, to, d, a, b, combine } = op else { return };
        let holds = self.compared(warp, path, *cmp, *ty, false, (*a, *b));
        let holds = self.combined(warp, path, holds, *combine);
        let yes = match to {
            Scalar::Float(float) => value::from_f64(1.0, *float, Rounding::Zero),
            _ => u64::MAX,
        };
        let result = each(|i| if holds >> i & 1 == 1 { yes } else { 0 });
        warp.regs.put64(&path.frame, *d, mask, &result);
    }

    #[inline(always)]
    pub(crate) fn selp(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (bool, Dst, Src, Src, Src),
    ) {
        let (wide, d, a, b, p) = op;
        let frame = &path.frame;
        let p = self.fetch_pred(warp, frame, p);
        if wide {
            let (a, b) = (self.fetch64(warp, frame, a), self.fetch64(warp, frame, b));
            let result = each(|i| if p >> i & 1 == 1 { a[i] } else { b[i] });
            warp.regs.put64(frame, d, mask, &result);
        } else {
            let (a, b) = (self.fetch32(warp, frame, a), self.fetch32(warp, frame, b));
            let result = each(|i| if p >> i & 1 == 1 { a[i] } else { b[i] });
            warp.regs.put32(frame, d, mask, &result);
        }
    }

    pub(crate) fn slct(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::Slct { ty, d, a, b, c, .. } = op else { return };
        let frame = &path.frame;
        let [a, b] = [*a, *b].map(|s| self.fetch64(warp, frame, s));
        let c = self.fetch32(warp, frame, *c);
        let result = each(|i| {
            let first = match ty {
                Scalar::Float(_) => f32::from_bits(c[i]) >= 0.0,
                _ => c[i] as i32 >= 0,
            };
            if first { a[i] } else { b[i] }
        });
        warp.regs.put64(frame, *d, mask, &result);
    }

    pub(crate) fn test_property(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::TestP { property, ty, d, a } = op else { return };
        let a = self.fetch64(warp, &path.frame, *a);
        let bits = (0..LANES).fold(0u32, |m, i| {
            // Subnormal in its own format.
            let (class, nan) = match ty {
                Float::F64 => (f64::from_bits(a[i]).classify(), f64::from_bits(a[i]).is_nan()),
                _ => (f32::from_bits(a[i] as u32).classify(), f32::from_bits(a[i] as u32).is_nan()),
            };
            use std::num::FpCategory as C;
            let holds = match property {
                TestProperty::Finite => !matches!(class, C::Nan | C::Infinite),
                TestProperty::Infinite => class == C::Infinite,
                TestProperty::Number => !nan,
                TestProperty::NotANumber => nan,
                TestProperty::Normal => matches!(class, C::Normal | C::Zero),
                TestProperty::Subnormal => class == C::Subnormal,
            };
            m | u32::from(holds) << i
        });
        warp.regs.put_pred(&path.frame, *d, mask, bits);
    }

    pub(crate) fn pred(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: (BoolFn, Dst, Src, Src),
    ) {
        let (f, d, a, b) = op;
        let (a, b) = (self.fetch_pred(warp, &path.frame, a), self.fetch_pred(warp, &path.frame, b));
        warp.regs.put_pred(&path.frame, d, mask, logic(f, a, b));
    }

    pub(crate) fn mov(&self, warp: &mut Warp, path: &Path, mask: u32, d: Dst, a: Src) {
        let frame = path.frame;
        if warp.loans.lends() && warp.loans.rename(&frame, d, a) {
            return;
        }
        match (d, a) {
            (Dst::Pred(_), a) => {
                let bits = self.fetch_pred(warp, &frame, a);
                warp.regs.put_pred(&frame, d, mask, bits);
            }
            (Dst::R128(to), Src::R128(from)) => {
                for half in 0..2 {
                    let value = self.fetch64(warp, &frame, Src::R64(from + half));
                    warp.regs.put64(&frame, Dst::R64(to + half), mask, &value);
                }
            }
            (Dst::R64(_), a) => {
                let value = self.fetch64(warp, &frame, a);
                warp.regs.put64(&frame, d, mask, &value);
            }
            (d, a) => {
                let value = self.fetch32(warp, &frame, a);
                warp.regs.put32(&frame, d, mask, &value);
            }
        }
    }

    pub(crate) fn pack(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        bits: u8,
        d: Dst,
        parts: &[Src],
    ) {
        let frame = path.frame;
        if let (Dst::R128(slot), 64) = (d, bits) {
            for (i, part) in parts.iter().enumerate().take(2) {
                let value = self.fetch64(warp, &frame, *part);
                warp.regs.put64(&frame, Dst::R64(slot + i as u32), mask, &value);
            }
            return;
        }
        let keep = if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 };
        let mut result = [[0u64; LANES]; 2];
        for (i, part) in parts.iter().enumerate() {
            let value = self.fetch64(warp, &frame, *part);
            let at = i * usize::from(bits);
            let half = &mut result[at / 64 % 2];
            for lane in 0..LANES {
                half[lane] |= (value[lane] & keep) << (at % 64);
            }
        }
        if let Dst::R128(slot) = d {
            warp.regs.put64(&frame, Dst::R64(slot), mask, &result[0]);
            warp.regs.put64(&frame, Dst::R64(slot + 1), mask, &result[1]);
        } else {
            warp.regs.put64(&frame, d, mask, &result[0]);
        }
    }

    pub(crate) fn unpack(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        bits: u8,
        parts: &[Dst],
        a: Src,
    ) {
        let frame = path.frame;
        let halves = match a {
            Src::R128(slot) => {
                [Src::R64(slot), Src::R64(slot + 1)].map(|s| self.fetch64(warp, &frame, s))
            }
            a => [self.fetch64(warp, &frame, a), [0; LANES]],
        };
        let keep = if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 };
        for (i, part) in parts.iter().enumerate() {
            let at = i * usize::from(bits);
            let value = halves[at / 64 % 2].map(|v| v >> (at % 64) & keep);
            warp.regs.put64(&frame, *part, mask, &value);
        }
    }

    pub(crate) fn convert(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::Cvt { to, from, r, integral, ftz, sat, finite, relu, d, a } = op else { return };
        let frame = path.frame;
        let a = self.fetch64(warp, &frame, *a);
        let result: Lanes64 = match (*to, *from) {
            (Scalar::Int(to, to_signed), Scalar::Int(from, signed)) => {
                let shift = 64 - u32::from(from.clamp(1, 64));
                let extend = |v: u64| {
                    if signed { ((v << shift) as i64 >> shift) as u64 } else { v << shift >> shift }
                };
                if *sat {
                    each(|i| {
                        let wide = extend(a[i]);
                        let wide = if signed { i128::from(wide as i64) } else { i128::from(wide) };
                        saturate_int(wide, to, to_signed)
                    })
                } else {
                    let cut = 64 - u32::from(to.clamp(1, 64));
                    // The destination register may be wider: it is filled as the type says.
                    each(|i| {
                        let v = extend(a[i]) << cut;
                        if to_signed { (v as i64 >> cut) as u64 } else { v >> cut }
                    })
                }
            }
            (Scalar::Int(to, signed), Scalar::Float(float)) => {
                let mode = r.unwrap_or(Rounding::Zero);
                each(|i| {
                    let v = if *ftz && float == Float::F32 {
                        value::flush(a[i] as u32).into()
                    } else {
                        a[i]
                    };
                    value::float_to_int(value::to_f64(v, float), to, signed, mode)
                })
            }
            (Scalar::Float(float), Scalar::Int(from, signed)) => {
                let mode = r.unwrap_or(Rounding::NearestEven);
                let shift = 64 - u32::from(from.clamp(1, 64));
                let result = each(|i| {
                    let x = if signed {
                        i128::from((a[i] << shift) as i64 >> shift)
                    } else {
                        i128::from(a[i] << shift >> shift)
                    };
                    value::int_to_float(x, float, mode)
                });
                if *sat { result.map(|v| value::saturate(v, float)) } else { result }
            }
            (Scalar::Float(to), Scalar::Float(from)) => each(|i| {
                let v = if *ftz && from == Float::F32 {
                    value::flush(a[i] as u32).into()
                } else {
                    a[i]
                };
                let mut x = value::to_f64(v, from);
                if *integral {
                    x = value::round_integral(x, r.unwrap_or(Rounding::NearestEven));
                }
                if *relu && x <= 0.0 {
                    x = 0.0;
                }
                let v = if to == from && !*integral && !*relu {
                    v
                } else if *finite && to != Float::F64 {
                    let mode = r.unwrap_or(Rounding::NearestEven);
                    value::narrow(x, format_of(to), mode, true).into()
                } else {
                    value::from_f64(x, to, r.unwrap_or(Rounding::NearestEven))
                };
                let v = if *ftz && to == Float::F32 { value::flush(v as u32).into() } else { v };
                if *sat { value::saturate(v, to) } else { v }
            }),
            (Scalar::Narrow(format), Scalar::Float(from)) => each(|i| {
                let x = value::to_f64(a[i], from);
                let x = if *relu && x < 0.0 { 0.0 } else { x };
                let bits = value::narrow(x, format, r.unwrap_or(Rounding::NearestEven), *finite);
                // TF32 fills the upper bits of a 32-bit register.
                u64::from(bits) << (if format == Format::TF32 { 13 } else { 0 })
            }),
            (_, Scalar::Narrow(format)) => a.map(|v| {
                value::from_f64(value::widen(v as u32, format), Float::F32, Rounding::NearestEven)
            }),
            (Scalar::Narrow(_), Scalar::Int(..)) => a,
        };
        warp.regs.put64(&frame, *d, mask, &result);
    }

    pub(crate) fn convert_pair(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::CvtPair { to, from, r, finite, relu, d, a, b } = op else { return };
        let frame = path.frame;
        let (a, b) = (self.fetch32(warp, &frame, *a), self.fetch32(warp, &frame, *b));
        let one = |x: f64| {
            let x = if *relu && x < 0.0 { 0.0 } else { x };
            match *to {
                Format::UE8M0 => value::to_power(x, *r == Rounding::Up),
                Format::BF16 if !*finite && *r == Rounding::NearestEven && from.is_none() => {
                    value::f32_to_bf16(x as f32)
                }
                to => value::narrow(x, to, *r, *finite),
            }
        };
        let read = |v: u32| match *from {
            None => f64::from(f32::from_bits(v)),
            Some(Format::UE8M0) => value::from_power(v),
            Some(format) => value::widen(v & ((1 << format.bits()) - 1), format),
        };
        let half = from.map_or(0, Format::container);
        let result = each(|i| match *from {
            None => one(read(a[i])) << to.container() | one(read(b[i])),
            Some(_) => one(read(a[i] >> half)) << to.container() | one(read(a[i])),
        });
        warp.regs.put32(&frame, *d, mask, &result);
    }

    pub(crate) fn convert_pack(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::CvtPack { bits, signed, d, a, b, c } = op else { return };
        let frame = path.frame;
        let [a, b, c] = [*a, *b, *c].map(|s| self.fetch32(warp, &frame, s));
        let keep = (1u32 << bits) - 1;
        let one = |v: u32| saturate_int(i128::from(v as i32), *bits, *signed) as u32 & keep;
        let above = 2 * u32::from(*bits);
        let result = each(|i| c[i].checked_shl(above).unwrap_or(0) | one(a[i]) << bits | one(b[i]));
        warp.regs.put32(&frame, *d, mask, &result);
    }

    pub(crate) fn setp_pair(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::SetpPair { cmp, ty, d, q, a, b, combine } = op else { return };
        let holds = self.compared_pair(warp, path, (*cmp, *ty), (*a, *b), *combine);
        for (d, holds) in [*d, *q].into_iter().zip(holds) {
            warp.regs.put_pred(&path.frame, d, mask, holds);
        }
    }

    pub(crate) fn set_pair(&self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let Op::SetPair { cmp, ty, one, d, a, b, combine } = op else { return };
        let holds = self.compared_pair(warp, path, (*cmp, *ty), (*a, *b), *combine);
        let result = each(|i| {
            let [low, high] = holds.map(|h| if h >> i & 1 == 1 { *one } else { 0 });
            low | high << 16
        });
        warp.regs.put32(&path.frame, *d, mask, &result);
    }

    /// The lanes for which a comparison of the low halves holds, and one of the high halves.
    fn compared_pair(
        &self,
        warp: &Warp,
        path: &Path,
        (cmp, ty): (Compare, Float),
        (a, b): (Src, Src),
        combine: Option<(BoolFn, Src)>,
    ) -> [u32; 2] {
        let frame = path.frame;
        let (a, b) = (self.fetch32(warp, &frame, a), self.fetch32(warp, &frame, b));
        [0, 16].map(|shift| {
            let number = |v: u32| value::to_f64((v >> shift & 0xFFFF).into(), ty);
            let holds = (0..LANES).fold(0u32, |m, i| {
                m | u32::from(value::compare_float(cmp, number(a[i]), number(b[i]))) << i
            });
            self.combined(warp, path, holds, combine)
        })
    }
}

fn format_of(ty: Float) -> Format {
    match ty {
        Float::F16 => Format::F16,
        Float::Bf16 => Format::BF16,
        Float::F32 | Float::F64 => Format::F32,
    }
}

fn clamped(v: u32, ty: Float, clamp: Clamp) -> u32 {
    match clamp {
        Clamp::Nothing => v,
        Clamp::Unit => value::saturate(v.into(), ty) as u32,
        Clamp::Relu if value::to_f64(v.into(), ty) <= 0.0 => 0,
        Clamp::Relu => v,
    }
}

fn saturate_int(x: i128, bits: u8, signed: bool) -> u64 {
    let (low, high) = if signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    x.clamp(low, high) as u64
}

fn logic(f: BoolFn, a: u32, b: u32) -> u32 {
    match f {
        BoolFn::And => a & b,
        BoolFn::Or => a | b,
        BoolFn::Xor => a ^ b,
    }
}

fn compare32(cmp: Compare, a: &Lanes32, b: &Lanes32) -> u32 {
    #[inline(always)]
    fn gather(holds: impl Fn(usize) -> bool) -> u32 {
        (0..LANES).fold(0, |m, i| m | u32::from(holds(i)) << i)
    }
    match cmp {
        Compare::Eq => gather(|i| a[i] == b[i]),
        Compare::Ne => gather(|i| a[i] != b[i]),
        Compare::Lt => gather(|i| a[i] < b[i]),
        Compare::Le => gather(|i| a[i] <= b[i]),
        Compare::Gt => gather(|i| a[i] > b[i]),
        _ => gather(|i| a[i] >= b[i]),
    }
}
