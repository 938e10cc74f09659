//! Atomic operations.

use super::track::in_turn;
use super::{Change, What, extend, read};
use crate::error::Fault;
use crate::ir::*;
use crate::value::{self, Float, Rounding};
use crate::warp::{Path, Warp};
use crate::world::{Flow, World, lanes_of};

impl World<'_> {
    pub(crate) fn atomic(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: (AtomFn, &Access, Dst, Src, Src),
    ) -> Result<Flow, Fault> {
        let (f, access, d, b, c) = op;
        let frame = path.frame;
        let n = usize::from(access.bytes);
        let addresses = self.addresses(warp, &frame, &access.addr, access.space);
        let (operand, second) = (self.fetch64(warp, &frame, b), self.fetch64(warp, &frame, c));
        let (mut before, mut after) = ([0u64; LANES], [0u64; LANES]);
        let mut changed = false;
        // Which lane comes first is not defined.
        let start = self.rng.below(LANES) as u32;
        for lane in in_turn(mask, start) {
            let place =
                self.resolve(warp, lane, access.space, addresses[lane], n as u64, n as u64, true)?;
            if n == 16 {
                changed |= self.atomic_128(warp, path, place, f, lane, (d, b, c))?;
                continue;
            }
            let bytes = self.view_mut(warp, place, n)?;
            let old = read(bytes);
            let new = atom(f, old, operand[lane], second[lane], access.bytes);
            if new != old {
                changed = true;
                bytes.copy_from_slice(&new.to_le_bytes()[..n]);
            }
            (before[lane], after[lane]) = (old, new);
        }
        if changed {
            if !self.watches.is_empty() {
                self.changed(mask, &addresses);
            }
            path.spin.rounds = 0;
        } else if self.looks_in_vain(path, mask, &addresses, &before) {
            return Ok(Flow::Blocked);
        }
        if self.detect.is_some() {
            let keep = u64::MAX >> (64 - 8 * n.min(8));
            let failed = |&l: &usize| f == AtomFn::Cas && n < 16 && before[l] != operand[l] & keep;
            let lanes = mask & !lanes_of(mask).filter(failed).fold(0, |m, l| m | 1 << l);
            let change = Change {
                lanes,
                first: start,
                repeats: 0,
                equal: 0,
                values: (n < 16).then_some((&before, &after)),
            };
            let what = if d == Dst::Sink { What::Reduction(change) } else { What::Atomic(change) };
            self.track(warp, path, mask, access, None, (&addresses, n), what);
        }
        if n < 16 {
            warp.regs.put64(&frame, d, mask, &before);
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    /// `atom` and `red` of several elements: each is atomic, the whole is not.
    pub(crate) fn atomic_vector(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        (f, access, d, b): (AtomFn, &Access, &[Dst], &[Src]),
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        let n = usize::from(access.bytes);
        let all = n * b.len();
        let addresses = self.addresses(warp, &frame, &access.addr, access.space);
        let start = self.rng.below(LANES) as u32;
        for lane in in_turn(mask, start) {
            let (at, all) = (addresses[lane], all as u64);
            let place = self.resolve(warp, lane, access.space, at, all, all, true)?;
            for (i, source) in b.iter().enumerate() {
                let operand = self.fetch64(warp, &frame, *source)[lane];
                let bytes = &mut self.view_mut(warp, place, all as usize)?[i * n..(i + 1) * n];
                let old = read(bytes);
                let new = atom(f, old, operand, 0, access.bytes);
                bytes.copy_from_slice(&new.to_le_bytes()[..n]);
                if let Some(d) = d.get(i) {
                    warp.regs.put_lane(&frame, *d, lane, old);
                }
            }
        }
        if !self.watches.is_empty() {
            self.changed(mask, &addresses);
        }
        path.spin.rounds = 0;
        if self.detect.is_some() {
            let change = Change { lanes: mask, first: start, repeats: 0, equal: 0, values: None };
            let what = if d.is_empty() { What::Reduction(change) } else { What::Atomic(change) };
            for i in 0..b.len() {
                let at = addresses.map(|a| a + (i * n) as u64);
                self.track(warp, path, mask, access, None, (&at, n), what);
            }
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    fn atomic_128(
        &mut self,
        warp: &mut Warp,
        path: &Path,
        place: crate::world::Place,
        f: AtomFn,
        lane: usize,
        (d, b, c): (Dst, Src, Src),
    ) -> Result<bool, Fault> {
        let frame = path.frame;
        let pair = |warp: &Warp, src: Src| match src {
            Src::R128(slot) => {
                let at = (frame.r64 + slot) as usize;
                Ok([warp.regs.r64[at][lane], warp.regs.r64[at + 1][lane]])
            }
            _ => Err(Fault::Unknown { text: "128-bit atomic without 128-bit registers".into() }),
        };
        let (b, c) = (pair(warp, b)?, if f == AtomFn::Cas { pair(warp, c)? } else { [0; 2] });
        let bytes = self.view_mut(warp, place, 16)?;
        let old = [read(&bytes[..8]), read(&bytes[8..])];
        let new = match f {
            AtomFn::Exch => b,
            AtomFn::Cas if old == b => c,
            AtomFn::Cas => old,
            _ => return Err(Fault::Unknown { text: "128-bit atomic other than exch, cas".into() }),
        };
        bytes[..8].copy_from_slice(&new[0].to_le_bytes());
        bytes[8..].copy_from_slice(&new[1].to_le_bytes());
        if let Dst::R128(slot) = d {
            let at = (frame.r64 + slot) as usize;
            warp.regs.r64[at][lane] = old[0];
            warp.regs.r64[at + 1][lane] = old[1];
        }
        Ok(new != old)
    }
}

/// The new value of an atomic operation on `bytes` bytes.
pub(crate) fn atom(f: AtomFn, old: u64, b: u64, c: u64, bytes: u8) -> u64 {
    let keep = if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
    let b = b & keep;
    let signed = |v: u64| extend(v, bytes, true) as i64;
    let float = |ty: Float, f: FloatFn| match ty {
        Float::F64 => value::double(f, old, b, 0),
        ty => value::narrow_float(f, ty, Rounding::NearestEven, old as u32, b as u32, 0).into(),
    };
    let halves = |ty: Float, f: FloatFn| {
        let one = |shift: u32| {
            let (x, y) = ((old >> shift) as u32 & 0xFFFF, (b >> shift) as u32 & 0xFFFF);
            u64::from(value::narrow_float(f, ty, Rounding::NearestEven, x, y, 0)) << shift
        };
        one(0) | one(16)
    };
    let new = match f {
        AtomFn::Add => old.wrapping_add(b),
        AtomFn::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomFn::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        AtomFn::MinU => old.min(b),
        AtomFn::MaxU => old.max(b),
        AtomFn::MinS => signed(old).min(signed(b)) as u64,
        AtomFn::MaxS => signed(old).max(signed(b)) as u64,
        AtomFn::And => old & b,
        AtomFn::Or => old | b,
        AtomFn::Xor => old ^ b,
        AtomFn::Exch => b,
        AtomFn::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomFn::AddF(ty) => float(ty, FloatFn::Add),
        AtomFn::MinF(ty) => float(ty, FloatFn::Min),
        AtomFn::MaxF(ty) => float(ty, FloatFn::Max),
        AtomFn::AddX2(ty) => halves(ty, FloatFn::Add),
        AtomFn::MinX2(ty) => halves(ty, FloatFn::Min),
        AtomFn::MaxX2(ty) => halves(ty, FloatFn::Max),
    };
    new & keep
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics() {
        assert_eq!(atom(AtomFn::Add, u32::MAX.into(), 2, 0, 4), 1);
        assert_eq!(atom(AtomFn::Inc, 5, 5, 0, 4), 0);
        assert_eq!(atom(AtomFn::Inc, 4, 5, 0, 4), 5);
        assert_eq!(atom(AtomFn::Dec, 0, 7, 0, 4), 7);
        assert_eq!(atom(AtomFn::Dec, 9, 7, 0, 4), 7);
        assert_eq!(atom(AtomFn::MinS, 0xFFFF_FFFF, 3, 0, 4), 0xFFFF_FFFF);
        assert_eq!(atom(AtomFn::MinU, 0xFFFF_FFFF, 3, 0, 4), 3);
        assert_eq!(atom(AtomFn::Cas, 4, 4, 9, 8), 9);
        assert_eq!(atom(AtomFn::Cas, 5, 4, 9, 8), 5);
        let f = |x: f32| u64::from(x.to_bits());
        assert_eq!(atom(AtomFn::AddF(Float::F32), f(1.5), f(2.0), 0, 4), f(3.5));
        assert_eq!(atom(AtomFn::AddX2(Float::F16), 0x3C00_3C00, 0x4000_3C00, 0, 4), 0x4200_4000);
    }
}
