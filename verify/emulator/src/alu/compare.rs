//! Comparisons, predicates, and what is chosen by them.

use super::each;
use crate::ir::*;
use crate::value::{self, Float, Rounding};
use crate::warp::{Path, Warp};
use crate::world::World;

impl World<'_> {
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
