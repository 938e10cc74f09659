//! What an order of work has been told to wait for, so that it is told once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::fence::{Progress, StreamFence};
use crate::reservation::{ContextId, Fence};

/// The latest fence of each other order that this one has been told to wait for: what comes later here comes after
/// it anyway.
#[derive(Default)]
pub(crate) struct Waits {
    latest: HashMap<ContextId, (u64, Weak<Progress>)>,
    /// How many there may be before those are looked for that are of no use any more.
    limit: usize,
}

impl Waits {
    /// Whether this one is among them, or an earlier one of the same order.
    pub fn covers(&self, fence: &StreamFence) -> bool {
        self.latest.get(&fence.context()).is_some_and(|(waited, _)| *waited >= fence.sequence())
    }

    pub fn add(&mut self, fence: &StreamFence) {
        if self.latest.len() >= self.limit {
            // Nobody asks again for an order that is gone with all its fences, or for work that has ended.
            self.latest.retain(|_, (sequence, progress)| {
                progress.upgrade().is_some_and(|progress| !progress.has_reached(*sequence))
            });
            self.limit = (2 * self.latest.len()).max(16);
        }
        let waited = (fence.sequence(), Arc::downgrade(fence.progress()));
        self.latest.insert(fence.context(), waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::Point;
    use crate::reservation::{Failure, Status};

    /// A place in an order of its own, which has not been reached as far as anybody knows.
    fn pending(progress: &Arc<Progress>) -> StreamFence {
        let nobody_knows = Point::Unknown(Failure::new("made by hand"));
        StreamFence::new(ContextId::unique(), 1, "work".into(), nobody_knows, Arc::clone(progress))
    }

    fn ended(progress: &Arc<Progress>) -> StreamFence {
        let fence = StreamFence::new(
            ContextId::unique(),
            1,
            "work".into(),
            Point::Ended,
            Arc::clone(progress),
        );
        assert_eq!(fence.poll(), Ok(Status::Done));
        fence
    }

    #[test]
    fn f16_orders_that_are_gone_are_not_remembered() {
        let (mut waits, kept) = (Waits::default(), Arc::default());
        let still = pending(&kept);
        waits.add(&still);
        let orders: Vec<Arc<Progress>> = (0..500).map(|_| Arc::default()).collect();
        for order in &orders {
            // The work of one of the two has ended; of the other there is neither stream nor fence any more.
            waits.add(&ended(order));
            waits.add(&pending(&Arc::default()));
        }
        assert!(waits.latest.len() <= 16, "{} are remembered", waits.latest.len());
        assert!(waits.covers(&still));
    }

    #[test]
    fn f16_what_is_pending_stays_known_however_much_there_is() {
        let mut waits = Waits::default();
        let orders: Vec<Arc<Progress>> = (0..100).map(|_| Arc::default()).collect();
        let fences: Vec<StreamFence> = orders.iter().map(pending).collect();
        fences.iter().for_each(|fence| waits.add(fence));
        assert!(fences.iter().all(|fence| waits.covers(fence)));
    }
}
