//! What the detection is told of an access that has been made.

use super::span::Region;
use crate::detect::{Class, Detector, Space, Touch};
use crate::ir::*;
use crate::rng::Rng;
use crate::warp::{Path, Warp};
use crate::world::{Place, World, lanes_of};

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
        What::Store(Change { lanes: u32::MAX, first: 0, repeats: 0, equal: 0, values: None });
}

/// What becomes of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// The lanes that write: all but those of a comparison that failed.
    pub lanes: u32,
    /// The lane whose turn came first, where each had one: the others followed, and the first lanes the last.
    pub first: u32,
    /// Lanes that store what a lane before them stores in the same place.
    pub repeats: u32,
    /// Lanes that store what was there before.
    pub equal: u32,
    /// What each finds and what it leaves, where that fits a register.
    pub values: Option<(&'a Lanes64, &'a Lanes64)>,
}

/// Lanes in the order of their turns.
pub(super) fn in_turn(mask: u32, first: u32) -> impl Iterator<Item = usize> {
    lanes_of(mask.rotate_right(first)).map(move |lane| (lane + first as usize) % LANES)
}

/// Groups of lanes with the same address.
pub(super) fn by_address(mask: u32, addresses: &Lanes64) -> impl Iterator<Item = (u64, u32)> {
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
pub(super) fn look(
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
                let first = match what {
                    What::Atomic(change) | What::Reduction(change) => change.first,
                    What::Load | What::Store(_) => 0,
                };
                for lane in in_turn(mask, first) {
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
        let (repeats, equal) = match what {
            What::Store(change) => (change.repeats, change.equal),
            _ => (0, 0),
        };
        let touch = Touch { site, write: !matches!(what, What::Load), class, strong, equal };
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
        let epoch = detect.epoch(w);
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
                What::Load => detect.strong_load(w, lanes, (space, at), order, site),
                What::Atomic(_) => {
                    detect.newest(w, lanes, (space, at));
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
                let what = (epoch, values);
                detect.strong_store(w, lane, (space, at), order, replaces, what);
            }
        }
        detect.forget_choices();
    }
}
