//! Tensor memory of a pair of CTAs: with `.cta_group::2` allocation and deallocation are one act of both, each by a warp
//! of its own.
//!
//! So a CTA may allocate once it knows that its peer has started, and deallocate once it knows that the peer's allocation
//! has come to its end. To know is to have been synchronised with it, at whatever strength: no values are handed over.

use super::clock::{SUBS, Stamp};
use super::{Detector, Home, Unit};

/// A pair's allocation, by the warp of one CTA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allocated {
    by: Stamp,
    site: u32,
}

impl Detector {
    /// A warp of a CTA allocates for the pair.
    pub fn pair_allocates(&mut self, w: u32, lane: usize, peer: u32, site: u32) {
        let there = self.ctas.get(peer as usize).map(|cta| cta.home);
        if !there.is_some_and(|home| self.has_heard_of(w, lane, home)) {
            self.report_unknown_peer(w, lane as u32, site);
        }
        let warp = &mut self.warps[w as usize];
        let by = Stamp { id: warp.lane(lane), epoch: warp.epoch };
        // What is published from now on tells of it, and nothing before.
        warp.epoch += 1;
        self.ctas[warp.cta as usize].pair = Some(Allocated { by, site });
    }

    /// A warp of a CTA deallocates for the pair.
    pub fn pair_deallocates(&mut self, w: u32, lane: usize, peer: u32, site: u32) {
        let allocated = self.ctas.get(peer as usize).and_then(|cta| cta.pair);
        let strand = self.warps[w as usize].of(lane);
        if !allocated.is_some_and(|allocated| strand.now.x.covers(allocated.by)) {
            self.report_early_deallocation(w, lane as u32, site, allocated.map(|a| a.site));
        }
    }

    /// Whether a thread was synchronised with any thread of a CTA.
    fn has_heard_of(&self, w: u32, lane: usize, there: Home) -> bool {
        let is_of = |unit: &Unit| unit.home == there;
        let known = &self.warps[w as usize].of(lane).now.x;
        known.components().any(|id| is_of(&self.units[(id / SUBS) as usize]))
    }
}
