//! Loads, stores and atomics of the lanes of a warp. Every ordinary access passes here.

use crate::detect::{Class, Detector, Space, Touch};
use crate::error::Fault;
use crate::ir::*;
use crate::memory::{GLOBAL_BASE, RANK_SHIFT, SHARED_BASE, SHARED_WINDOW};
use crate::rng::Rng;
use crate::value::{self, Float, Rounding};
use crate::warp::{FULL, Frame, Path, Spin, Wait, Warp};
use crate::world::{Event, Flow, Place, World, lanes_of};

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

/// The addresses of the active lanes, together.
struct Span {
    min: u64,
    max: u64,
    /// All their bits, for alignment.
    bits: u64,
}

impl Span {
    #[inline(always)]
    fn of(addresses: &Lanes64, mask: u32) -> Span {
        let first = addresses[mask.trailing_zeros() as usize & 31];
        let mut span = Span { min: first, max: first, bits: first };
        for (i, &address) in addresses.iter().enumerate() {
            let address = if mask >> i & 1 == 1 { address } else { first };
            span.min = span.min.min(address);
            span.max = span.max.max(address);
            span.bits |= address;
        }
        span
    }
}

/// Memory that holds a whole [`Span`], from its lowest address.
#[derive(Clone, Copy)]
pub(crate) enum Region {
    Global(usize),
    Shared(usize, usize),
}

impl Region {
    fn place(self) -> (Space, usize) {
        match self {
            Region::Global(base) => (Space::Global, base),
            Region::Shared(cta, base) => (Space::Shared(cta as u32), base),
        }
    }
}

/// Reads the elements of the active lanes.
#[inline(always)]
fn gather(bytes: &[u8], at: &Lanes64, min: u64, mask: u32, n: u8, value: &mut Lanes64) {
    #[inline(always)]
    fn sized<const N: usize>(bytes: &[u8], at: &Lanes64, min: u64, mask: u32, to: &mut Lanes64) {
        for i in 0..LANES {
            if mask >> i & 1 == 1 {
                let from = (at[i] - min) as usize;
                to[i] = read(&bytes[from..from + N]);
            }
        }
    }
    match n {
        1 => sized::<1>(bytes, at, min, mask, value),
        2 => sized::<2>(bytes, at, min, mask, value),
        4 => sized::<4>(bytes, at, min, mask, value),
        _ => sized::<8>(bytes, at, min, mask, value),
    }
}

/// Reads words of the active lanes.
#[inline(always)]
fn gather_words(bytes: &[u8], at: &Lanes64, min: u64, mask: u32, value: &mut Lanes32) {
    let word = |lane: usize| {
        let from = (at[lane] - min) as usize;
        read(&bytes[from..from + 4]) as u32
    };
    if mask == FULL {
        for (lane, value) in value.iter_mut().enumerate() {
            *value = word(lane);
        }
    } else {
        for lane in lanes_of(mask) {
            value[lane] = word(lane);
        }
    }
}

/// Writes the elements of the active lanes, in their order.
#[inline(always)]
fn scatter(bytes: &mut [u8], at: &Lanes64, min: u64, mask: u32, n: u8, value: &Lanes64) {
    #[inline(always)]
    fn sized<const N: usize>(bytes: &mut [u8], at: &Lanes64, min: u64, mask: u32, from: &Lanes64) {
        for i in 0..LANES {
            if mask >> i & 1 == 1 {
                let to = (at[i] - min) as usize;
                bytes[to..to + N].copy_from_slice(&from[i].to_le_bytes()[..N]);
            }
        }
    }
    match n {
        1 => sized::<1>(bytes, at, min, mask, value),
        2 => sized::<2>(bytes, at, min, mask, value),
        4 => sized::<4>(bytes, at, min, mask, value),
        _ => sized::<8>(bytes, at, min, mask, value),
    }
}

impl World<'_> {
    /// The memory of a span, if one check is enough for all its lanes. Where it is not, because
    /// something is wrong or the lanes reach different memories, they are checked one by one.
    #[inline(always)]
    fn region(
        &mut self,
        warp: &Warp,
        space: MemSpace,
        span: &Span,
        bytes: u64,
        write: bool,
    ) -> Option<Region> {
        if span.bits & (bytes - 1) != 0 {
            return None;
        }
        let length = span.max - span.min + bytes;
        let (space, min) = match (space, span.min >> 32) {
            (MemSpace::Generic, SHARED_WINDOW) if span.max >> 32 == SHARED_WINDOW => {
                (MemSpace::Shared, span.min & 0xFFFF_FFFF)
            }
            (MemSpace::Generic, _) if span.min >= GLOBAL_BASE => (MemSpace::Global, span.min),
            (space, _) => (space, span.min),
        };
        match space {
            MemSpace::Global => Some(Region::Global(self.memory.covers(min, length, write)?)),
            MemSpace::Shared | MemSpace::SharedCluster => {
                let cta = &self.ctas[warp.cta as usize];
                let base = u64::from(cta.rank << RANK_SHIFT | SHARED_BASE);
                let at = min.checked_sub(base)?;
                if at + length > cta.shared.len() as u64
                    || write && cta.barriers.overlapping(at as u32, length as u32).is_some()
                {
                    return None;
                }
                Some(Region::Shared(warp.cta as usize, at as usize))
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn region_bytes(&self, region: Region, length: usize) -> &[u8] {
        match region {
            Region::Global(at) => self.memory.slice(at, length),
            Region::Shared(cta, at) => &self.ctas[cta].shared[at..at + length],
        }
    }

    #[inline(always)]
    fn region_bytes_mut(&mut self, region: Region, length: usize) -> &mut [u8] {
        match region {
            Region::Global(at) => self.memory.slice_mut(at, length),
            Region::Shared(cta, at) => &mut self.ctas[cta].shared[at..at + length],
        }
    }

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
            for (i, source) in sources.iter().enumerate() {
                let value = self.fetch64(warp, &frame, *source);
                if known {
                    let keep = u64::MAX >> (64 - 8 * n);
                    new = value.map(|v| v & keep);
                }
                let bytes = &mut self.region_bytes_mut(region, length)[i * n..];
                scatter(bytes, &addresses, span.min, mask, access.bytes, &value);
            }
            if self.detect.is_some() {
                let region = Some((region, span.min));
                let repeats = self.repeats(warp, &frame, mask, &addresses, sources);
                let change = Change { lanes: mask, repeats, values: known.then_some((&old, &new)) };
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
        for lane in lanes_of(mask.rotate_right(start)) {
            let lane = (lane + start as usize) % LANES;
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
            let change =
                Change { lanes, repeats: 0, values: (n < 16).then_some((&before, &after)) };
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
        for lane in lanes_of(mask.rotate_right(start)) {
            let lane = (lane + start as usize) % LANES;
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
            let change = Change { lanes: mask, repeats: 0, values: None };
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

/// Groups of lanes with the same address.
fn by_address(mask: u32, addresses: &Lanes64) -> impl Iterator<Item = (u64, u32)> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let at = addresses[rest.trailing_zeros() as usize];
        let lanes = lanes_of(rest).filter(|&l| addresses[l] == at).fold(0, |m, l| m | 1 << l);
        rest &= !lanes;
        Some((at, lanes))
    })
}

/// Lets lanes that load from memory see what they may: not always the newest value.
fn look(
    detect: &mut Detector,
    rng: &mut Rng,
    (w, mask): (u32, u32),
    (region, min): (Region, u64),
    addresses: &Lanes64,
    value: &mut Lanes64,
) {
    detect.forget_choices();
    let (space, base) = region.place();
    for (address, lanes) in by_address(mask, addresses) {
        let at = address.wrapping_sub(min).wrapping_add(base as u64);
        let current = value[lanes.trailing_zeros() as usize];
        let seen = detect.look(rng, (w, lanes), (space, at), current);
        for lane in lanes_of(lanes) {
            value[lane] = seen;
        }
    }
}

/// What an access does, for the detection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    Load,
    Store(Change<'a>),
    Atomic(Change<'a>),
    Reduction(Change<'a>),
}

impl What<'_> {
    /// A store of which the detection need not know the values.
    pub const UNKNOWN_STORE: What<'static> =
        What::Store(Change { lanes: u32::MAX, repeats: 0, values: None });
}

/// What becomes of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// The lanes that write: all but those of a comparison that failed.
    pub lanes: u32,
    /// Lanes that store what a lane before them stores in the same place.
    pub repeats: u32,
    /// What each finds and what it leaves, where that fits a register.
    pub values: Option<(&'a Lanes64, &'a Lanes64)>,
}

impl World<'_> {
    /// Tells the detection of an access that has been made.
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "the parts of one access")]
    pub(crate) fn track(
        &mut self,
        warp: &Warp,
        path: &Path,
        mask: u32,
        access: &Access,
        region: Option<(Region, u64)>,
        (addresses, bytes): (&Lanes64, usize),
        what: What<'_>,
    ) {
        let Some(mut detect) = self.detect.take() else { return };
        match region {
            Some((region, min)) => {
                let (space, base) = region.place();
                let offsets = each(addresses, |a| a.wrapping_sub(min).wrapping_add(base as u64));
                self.track_in(&mut detect, path, mask, access, (space, &offsets, bytes), what);
            }
            None => {
                for lane in lanes_of(mask) {
                    let place =
                        self.place(warp, lane, (access.space, addresses[lane]), (1, 1), false);
                    let (space, at) = match place {
                        Ok(Place::Global(at)) => (Space::Global, at),
                        Ok(Place::Shared(cta, at)) => (Space::Shared(cta), at),
                        _ => continue,
                    };
                    let at = (space, &[at as u64; LANES], bytes);
                    self.track_in(&mut detect, path, 1 << lane, access, at, what);
                }
            }
        }
        self.detect = Some(detect);
    }

    fn track_in(
        &mut self,
        detect: &mut Detector,
        path: &Path,
        mask: u32,
        access: &Access,
        (space, offsets, bytes): (Space, &Lanes64, usize),
        what: What<'_>,
    ) {
        let (w, site) = (self.current, path.site());
        let strong = access.strong.then_some((access.scope, bytes as u32));
        let class = if access.constant { Class::Constant } else { Class::Thread };
        let touch = Touch { site, write: !matches!(what, What::Load), class, strong };
        let repeats = if let What::Store(change) = what { change.repeats } else { 0 };
        if !matches!(what, What::Store(_)) {
            match space {
                Space::Global => {
                    let unwritten =
                        |&l: &usize| !self.memory.is_written(offsets[l] as usize, bytes);
                    if let Some(lane) = lanes_of(mask).find(unwritten) {
                        detect.unwritten(w, lane as u32, space, offsets[lane], site);
                    }
                }
                Space::Shared(cta) if touch.write => {
                    detect.check_written(w, mask, cta, offsets, bytes, site);
                }
                Space::Shared(_) | Space::Tensor(_) => {}
            }
        }
        detect.access(w, mask, space, offsets, bytes, (touch, repeats));
        if !matches!(what, What::Load) && space == Space::Global {
            for lane in lanes_of(mask) {
                self.memory.mark(offsets[lane] as usize, bytes);
            }
        }
        if !access.strong {
            return;
        }
        let order = (access.order, access.scope);
        for (at, lanes) in by_address(mask, offsets) {
            match what {
                What::Load | What::Atomic(_) => {
                    detect.strong_load(w, lanes, (space, at), order, site);
                }
                What::Reduction(_) => detect.reduction(w, lanes, (space, at)),
                What::Store(_) => {}
            }
            let (What::Store(change) | What::Atomic(change) | What::Reduction(change)) = what
            else {
                continue;
            };
            let replaces = matches!(what, What::Store(_));
            for lane in lanes_of(lanes & change.lanes) {
                let values = change.values.map(|(old, new)| (old[lane], new[lane])).unzip();
                detect.strong_store(w, lane, (space, at), order, replaces, values);
            }
        }
        detect.forget_choices();
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
