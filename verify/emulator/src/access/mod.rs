//! Loads, stores and atomics of the lanes of a warp. Every ordinary access passes here.

mod atomic;
mod span;
mod track;

use crate::error::Fault;
use crate::ir::*;
use crate::warp::{Frame, Path, Spin, Wait, Warp};
use crate::world::{Event, Flow, World, lanes_of};
pub(crate) use atomic::atom;
use span::{Span, gather, gather_words, holds, scatter};
pub(crate) use track::{Change, What};
use track::{by_address, look};

/// Rounds of a loop that only looks before its path is parked.
const SPIN_ROUNDS: u32 = 32;

#[inline(always)]
fn read(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

fn extend(value: u64, bytes: u8, signed: bool) -> u64 {
    if !signed || bytes >= 8 {
        return value;
    }
    let shift = 64 - 8 * u32::from(bytes);
    ((value << shift) as i64 >> shift) as u64
}

impl World<'_> {
    pub(crate) fn load(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        access: &Access,
        d: Dst,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        let n = access.bytes;
        if let Dst::R128(_) = d {
            return self.load_vector(warp, path, mask, access, &[d]);
        }
        // A kernel parameter is the same for all lanes.
        if let (MemSpace::Param, Src::Param(at)) = (access.space, access.addr.base) {
            let at = u64::from(at).wrapping_add(access.addr.offset as u64);
            let place = self.resolve(warp, 0, MemSpace::Param, at, n.into(), n.into(), false)?;
            let value = extend(read(self.view(warp, place, n.into())), n, access.signed);
            warp.regs.put64(&frame, d, mask, &[value; LANES]);
            path.pc += 1;
            return Ok(Flow::Next);
        }
        let addresses = self.addresses(warp, &frame, &access.addr, access.space);
        let span = Span::of(&addresses, mask);
        let region = self.region(warp, access.space, &span, n.into(), false);
        if let (4, Dst::R32(slot), false, Some(region)) = (n, d, access.strong, region) {
            // Most loads: words, straight into the register.
            let length = (span.max - span.min) as usize + 4;
            let bytes = self.region_bytes(region, length);
            let register = &mut warp.regs.r32[(frame.r32 + slot) as usize];
            gather_words(bytes, &addresses, span.min, mask, register);
            if self.detect.is_some() {
                let region = Some((region, span.min));
                self.track(warp, path, mask, access, region, (&addresses, 4), What::Load);
            }
            path.pc += 1;
            return Ok(Flow::Next);
        }
        let mut value = [0u64; LANES];
        if let Some(region) = region {
            let length = (span.max - span.min) as usize + usize::from(n);
            gather(self.region_bytes(region, length), &addresses, span.min, mask, n, &mut value);
        } else {
            for lane in lanes_of(mask) {
                let (address, n) = (addresses[lane], u64::from(n));
                let place = self.resolve(warp, lane, access.space, address, n, n, false)?;
                value[lane] = read(self.view(warp, place, n as usize));
            }
        }
        if access.strong
            && let Some(region) = region
            && let Some(detect) = &mut self.detect
        {
            let who = (self.current, mask);
            look(detect, &mut self.rng, who, (region, span.min), &addresses, &mut value);
        }
        if access.signed {
            value = each(&value, |v| extend(v, n, true));
        }
        if access.strong && self.looks_in_vain(path, mask, &addresses, &value) {
            // The value is not taken: the next access, an atomic perhaps, makes its own choice.
            if let Some(detect) = &mut self.detect {
                detect.forget_choices();
            }
            return Ok(Flow::Blocked);
        }
        if self.detect.is_some() {
            let region = region.map(|r| (r, span.min));
            self.track(warp, path, mask, access, region, (&addresses, n.into()), What::Load);
        }
        warp.regs.put64(&frame, d, mask, &value);
        path.pc += 1;
        Ok(if access.strong { Flow::Visible } else { Flow::Next })
    }

    /// Whether a loop around this strong read has seen the same for so long that its path parks
    /// until memory changes. Returns with `path.wait` set.
    fn looks_in_vain(
        &mut self,
        path: &mut Path,
        mask: u32,
        addresses: &Lanes64,
        value: &Lanes64,
    ) -> bool {
        let seen = lanes_of(mask).fold(0u64, |h, l| {
            (h ^ value[l] ^ addresses[l].rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        let site = (path.frame.func, path.pc);
        if path.spin.site != site || path.spin.value != seen || path.spin.rounds == 0 {
            if path.spin.site == site && path.spin.value != seen {
                path.parked = 0;
            }
            path.spin = Spin { site, value: seen, rounds: 1 };
            return false;
        }
        path.spin.rounds += 1;
        if path.spin.rounds < SPIN_ROUNDS << path.parked.min(16) {
            return false;
        }
        path.spin.rounds = 0;
        let address = addresses[mask.trailing_zeros() as usize & 31];
        path.wait = Some(Wait::Change { address });
        self.watches.push(address);
        true
    }

    pub(crate) fn load_vector(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        access: &Access,
        d: &[Dst],
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        let n = usize::from(access.bytes);
        let all = n * d.len();
        let addresses = self.addresses(warp, &frame, &access.addr, access.space);
        let span = Span::of(&addresses, mask);
        if n <= 8
            && let Some(region) = self.region(warp, access.space, &span, all as u64, false)
        {
            let length = (span.max - span.min) as usize + all;
            for (i, d) in d.iter().enumerate() {
                let mut value = [0; LANES];
                let bytes = &self.region_bytes(region, length)[i * n..];
                gather(bytes, &addresses, span.min, mask, access.bytes, &mut value);
                if access.signed {
                    value = value.map(|v| extend(v, access.bytes, true));
                }
                warp.regs.put64(&frame, *d, mask, &value);
            }
            if self.detect.is_some() {
                let region = Some((region, span.min));
                self.track(warp, path, mask, access, region, (&addresses, all), What::Load);
            }
            path.pc += 1;
            return Ok(if access.strong { Flow::Visible } else { Flow::Next });
        }
        for lane in lanes_of(mask) {
            let place = self.resolve(
                warp,
                lane,
                access.space,
                addresses[lane],
                all as u64,
                all as u64,
                false,
            )?;
            let mut bytes = [0u8; 128];
            bytes[..all].copy_from_slice(self.view(warp, place, all));
            for (i, d) in d.iter().enumerate() {
                let element = &bytes[i * n..(i + 1) * n];
                match (n, *d) {
                    (16, Dst::R128(slot)) => {
                        let at = (frame.r64 + slot) as usize;
                        warp.regs.r64[at][lane] = read(&element[..8]);
                        warp.regs.r64[at + 1][lane] = read(&element[8..]);
                    }
                    (_, d) => {
                        let value = extend(read(element), access.bytes, access.signed);
                        warp.regs.put_lane(&frame, d, lane, value);
                    }
                }
            }
        }
        if self.detect.is_some() {
            self.track(warp, path, mask, access, None, (&addresses, all), What::Load);
        }
        path.pc += 1;
        Ok(if access.strong { Flow::Visible } else { Flow::Next })
    }

    pub(crate) fn store(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        access: &Access,
        sources: &[Src],
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        let n = usize::from(access.bytes);
        let all = n * sources.len();
        let addresses = self.addresses(warp, &frame, &access.addr, access.space);
        let span = Span::of(&addresses, mask);
        if n <= 8
            && all.is_power_of_two()
            && let Some(region) = self.region(warp, access.space, &span, all as u64, true)
        {
            let length = (span.max - span.min) as usize + all;
            let known = access.strong && self.detect.is_some() && sources.len() == 1;
            let (mut old, mut new) = ([0; LANES], [0; LANES]);
            if known {
                let bytes = self.region_bytes(region, length);
                gather(bytes, &addresses, span.min, mask, access.bytes, &mut old);
            }
            let mut equal = mask;
            for (i, source) in sources.iter().enumerate() {
                let value = self.fetch64(warp, &frame, *source);
                if known {
                    let keep = u64::MAX >> (64 - 8 * n);
                    new = value.map(|v| v & keep);
                }
                let detects = self.detect.is_some();
                let bytes = &mut self.region_bytes_mut(region, length)[i * n..];
                if detects {
                    equal = holds(bytes, &addresses, span.min, equal, access.bytes, &value);
                }
                scatter(bytes, &addresses, span.min, mask, access.bytes, &value);
            }
            if self.detect.is_some() {
                let region = Some((region, span.min));
                let repeats = self.repeats(warp, &frame, mask, &addresses, sources);
                let values = known.then_some((&old, &new));
                let change = Change { lanes: mask, first: 0, repeats, equal, values };
                let what = What::Store(change);
                self.track(warp, path, mask, access, region, (&addresses, all), what);
            }
            return Ok(self.stored(path, access, mask, &addresses));
        }
        for lane in lanes_of(mask) {
            let place = self.resolve(
                warp,
                lane,
                access.space,
                addresses[lane],
                all as u64,
                (all as u64).next_power_of_two(),
                true,
            )?;
            let mut bytes = [0u8; 128];
            for (i, source) in sources.iter().enumerate() {
                let element = &mut bytes[i * n..(i + 1) * n];
                if let (16, Src::R128(slot)) = (n, *source) {
                    let at = (frame.r64 + slot) as usize;
                    element[..8].copy_from_slice(&warp.regs.r64[at][lane].to_le_bytes());
                    element[8..].copy_from_slice(&warp.regs.r64[at + 1][lane].to_le_bytes());
                } else {
                    let value = match *source {
                        Src::R32(slot) => {
                            u64::from(warp.regs.r32[(frame.r32 + slot) as usize][lane])
                        }
                        Src::R64(slot) => warp.regs.r64[(frame.r64 + slot) as usize][lane],
                        Src::Imm(value) => value,
                        source => self.fetch64(warp, &frame, source)[lane],
                    };
                    element.copy_from_slice(&value.to_le_bytes()[..n.min(8)]);
                }
            }
            self.view_mut(warp, place, all)?.copy_from_slice(&bytes[..all]);
        }
        if self.detect.is_some() {
            let what = What::UNKNOWN_STORE;
            self.track(warp, path, mask, access, None, (&addresses, all), what);
        }
        Ok(self.stored(path, access, mask, &addresses))
    }

    /// Lanes that store the same as an earlier lane, in the same place. The result of such an instruction is one of the
    /// values, whichever lane comes last.
    #[inline]
    fn repeats(
        &self,
        warp: &Warp,
        frame: &Frame,
        mask: u32,
        addresses: &Lanes64,
        sources: &[Src],
    ) -> u32 {
        let rising = (1..LANES).fold(true, |all, i| all & (addresses[i - 1] < addresses[i]));
        if rising || mask.is_power_of_two() {
            return 0;
        }
        let values: Vec<Lanes64> =
            sources.iter().map(|&source| self.fetch64(warp, frame, source)).collect();
        by_address(mask, addresses).fold(0, |repeats, (_, lanes)| {
            let first = lanes.trailing_zeros() as usize;
            let same = |&lane: &usize| values.iter().all(|value| value[lane] == value[first]);
            repeats | lanes_of(lanes & (lanes - 1)).filter(same).fold(0, |m, lane| m | 1 << lane)
        })
    }

    /// Wakes those who look at what was written. Addresses of different spaces are compared by
    /// their lower halves, which may wake somebody for nothing.
    fn changed(&mut self, mask: u32, addresses: &Lanes64) {
        let near = |a: u64, b: u64| (a ^ b) as u32 >> 4 == 0;
        if lanes_of(mask).any(|l| self.watches.iter().any(|&w| near(w, addresses[l]))) {
            self.events.push(Event::Change);
        }
    }

    fn stored(&mut self, path: &mut Path, access: &Access, mask: u32, at: &Lanes64) -> Flow {
        if !self.watches.is_empty() {
            self.changed(mask, at);
        }
        path.spin.rounds = 0;
        path.pc += 1;
        if access.strong { Flow::Visible } else { Flow::Next }
    }
}
