//! Products in registers: what they read, what a wait completes, and whose the registers are.

use super::clock::Stamp;
use super::shadow::Class;
use super::{Batch, Detector, Space, Touch};
use crate::ir::LANES;

impl Detector {
    /// A warp's part of a product reads runs of shared memory.
    pub fn wgmma_source(
        &mut self,
        w: u32,
        cta: u32,
        (site, group): (u32, u32),
        runs: impl Iterator<Item = (usize, usize)>,
    ) {
        let mut stamp = self.batch(w, LANES as u32, Batch::Wgmma);
        stamp.epoch = group + 1;
        let touch = Touch { site, write: false, class: Class::Wgmma, strong: None, equal: 0 };
        self.touch_async(w, 0, stamp, Space::Shared(cta), runs, touch);
    }

    /// The groups before `open` that a warp has committed are complete; and so are, though the wait does not say it, the
    /// parts of them that the others of its warpgroup have in them.
    pub fn wgmma_waited(&mut self, w: u32, warpgroup: &[u32], open: u32) {
        for &other in warpgroup {
            let stamp = Stamp { epoch: open, ..self.batch(other, LANES as u32, Batch::Wgmma) };
            self.warps[w as usize].split(u32::MAX, |strand| match other == w {
                true => strand.now.complete(stamp),
                false => strand.now.d.raise(stamp),
            });
        }
    }
}
