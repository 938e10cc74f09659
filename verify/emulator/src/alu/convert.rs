//! Moves, and conversions between types.

use super::each;
use crate::ir::*;
use crate::value::{self, Float, Format, Rounding};
use crate::warp::{Path, Warp};
use crate::world::World;

impl World<'_> {
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
}

fn saturate_int(x: i128, bits: u8, signed: bool) -> u64 {
    let (low, high) = if signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    x.clamp(low, high) as u64
}

fn format_of(ty: Float) -> Format {
    match ty {
        Float::F16 => Format::F16,
        Float::Bf16 => Format::BF16,
        Float::F32 | Float::F64 => Format::F32,
    }
}
