//! Where the lanes of a warp reach at once: mostly one memory, between a lowest and a highest address, so that one check
//! is enough for all of them.

use super::read;
use crate::detect::Space;
use crate::ir::*;
use crate::memory::{GLOBAL_BASE, RANK_SHIFT, SHARED_BASE, SHARED_WINDOW};
use crate::warp::{FULL, Warp};
use crate::world::{World, lanes_of};

/// The addresses of the active lanes, together.
pub(super) struct Span {
    pub min: u64,
    pub max: u64,
    /// All their bits, for alignment.
    bits: u64,
}

impl Span {
    #[inline(always)]
    pub fn of(addresses: &Lanes64, mask: u32) -> Span {
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
    pub fn place(self) -> (Space, usize) {
        match self {
            Region::Global(base) => (Space::Global, base),
            Region::Shared(cta, base) => (Space::Shared(cta as u32), base),
        }
    }
}

/// Reads the elements of the active lanes.
#[inline(always)]
pub(super) fn gather(bytes: &[u8], at: &Lanes64, min: u64, mask: u32, n: u8, value: &mut Lanes64) {
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
pub(super) fn gather_words(bytes: &[u8], at: &Lanes64, min: u64, mask: u32, value: &mut Lanes32) {
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

/// The lanes of `mask` of which memory holds the element already.
#[inline(always)]
pub(super) fn holds(
    bytes: &[u8],
    at: &Lanes64,
    min: u64,
    mask: u32,
    n: u8,
    value: &Lanes64,
) -> u32 {
    #[inline(always)]
    fn sized<const N: usize>(bytes: &[u8], at: &Lanes64, min: u64, mask: u32, of: &Lanes64) -> u32 {
        let same = |&lane: &usize| {
            let from = (at[lane] - min) as usize;
            bytes[from..from + N] == of[lane].to_le_bytes()[..N]
        };
        lanes_of(mask).filter(same).fold(0, |lanes, lane| lanes | 1 << lane)
    }
    match n {
        1 => sized::<1>(bytes, at, min, mask, value),
        2 => sized::<2>(bytes, at, min, mask, value),
        4 => sized::<4>(bytes, at, min, mask, value),
        _ => sized::<8>(bytes, at, min, mask, value),
    }
}

/// Writes the elements of the active lanes, in their order.
#[inline(always)]
pub(super) fn scatter(bytes: &mut [u8], at: &Lanes64, min: u64, mask: u32, n: u8, value: &Lanes64) {
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
    pub(super) fn region(
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
    pub(super) fn region_bytes(&self, region: Region, length: usize) -> &[u8] {
        match region {
            Region::Global(at) => self.memory.slice(at, length),
            Region::Shared(cta, at) => &self.ctas[cta].shared[at..at + length],
        }
    }

    #[inline(always)]
    pub(super) fn region_bytes_mut(&mut self, region: Region, length: usize) -> &mut [u8] {
        match region {
            Region::Global(at) => self.memory.slice_mut(at, length),
            Region::Shared(cta, at) => &mut self.ctas[cta].shared[at..at + length],
        }
    }
}
