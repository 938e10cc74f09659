//! Stores that complete on an mbarrier: by the generic proxy or by the async one, which the text leaves open.

use super::hazard::BarrierUser;
use super::shadow::Class;
use super::{Detector, Space, Touch};
use crate::async_ops::SharedPlace;

impl Detector {
    /// An asynchronous store is issued; it completes on `bar`. Those that reduce are atomic, and
    /// conflict with nothing.
    pub fn remote_store(
        &mut self,
        w: u32,
        lane: usize,
        (site, reduces): (u32, bool),
        (place, bytes): (SharedPlace, u32),
        (bar, phase): (SharedPlace, u64),
    ) {
        let by = self.warps[w as usize].cta;
        let stamp = self.phase_stamp(bar, phase, by);
        self.check_barrier_async((w, lane as u32), bar, site, BarrierUser::Store);
        if reduces {
            return;
        }
        let touch = Touch { site, write: true, class: Class::Store, strong: None, equal: 0 };
        let runs = [(place.offset as usize, bytes as usize)];
        self.touch_async(w, lane, stamp, Space::Shared(place.cta), runs, touch);
    }
}
