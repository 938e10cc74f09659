//! Arithmetic instructions on whole warps: every lane is computed, the mask decides what is kept.

mod compare;
mod convert;

use crate::ir::*;
use crate::value::{self, Float, Rounding, Word};
use crate::warp::{Path, Warp};
use crate::world::World;

impl World<'_> {
    pub(crate) fn logic_with_predicate(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        op: &Lop3With,
    ) {
        let frame = path.frame;
        let [a, b, c] = self.fetch32_all(warp, &frame, op.words);
        let q = self.fetch_pred(warp, &frame, op.q);
        let word = each(|i| u32::apply(IntFn::Lop3(op.table), a[i], b[i], c[i]));
        let set = (0..LANES).fold(0, |bits, i| bits | u32::from(word[i] != 0) << i);
        let bits = match op.combine {
            BoolFn::And => set & q,
            BoolFn::Or => set | q,
            BoolFn::Xor => set ^ q,
        };
        warp.regs.put32(&frame, op.d, mask, &word);
        warp.regs.put_pred(&frame, op.p, mask, bits);
    }
}

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
            if ftz {
                [a, b, c] = [a, b, c].map(|v| v.map(|v| value::flush_narrow(v, ty)));
            }
            each(|i| value::narrow_float(f, ty, r, a[i], b[i], c[i]))
        };
        if ftz {
            result = result.map(|v| value::flush_narrow(v, ty));
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
        let flush = |v: u32| if ftz { value::flush_narrow(v, ty) } else { v };
        if ty == Float::F32 {
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
            let part = |v: &Lanes32| flush(v[i] >> shift & 0xFFFF);
            flush(one(part(&a), part(&b), part(&c))) << shift
        };
        let result = each(|i| half(i, 0) | half(i, 16));
        warp.regs.put32(frame, d, mask, &result);
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
