//! What nobody owns any more and work may still be using: page-locked memory, code, graphs, memory of devices without
//! pools.
//!
//! It is given back when its fences have signalled, which the next call looks for: two leftovers each time, so that
//! there is no search and no loop, and that there are never more than there is work going on.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::capturing;
use crate::fence::StreamFence;
use crate::reservation::{Fence, Reservation, Status, Usages};

/// Dropping it is all there is to do, once no work uses it.
pub(crate) type Leftover = Box<dyn Any + Send>;

/// The leftovers of a device.
#[derive(Default)]
pub(crate) struct Leftovers(Mutex<VecDeque<(Leftover, Vec<StreamFence>)>>);

/// The fences of a reservation that may not have signalled, asked for only where asking is allowed.
pub(crate) fn pending(reservation: &Reservation<StreamFence>) -> Vec<StreamFence> {
    if capturing::is_held_back() {
        let known = reservation.lock();
        let fences = known.iter(Usages::all()).map(|(fence, _)| fence);
        fences.filter(|fence| fence.status() == Status::Pending).collect()
    } else {
        reservation.fences(Usages::all()).into_iter().map(|(fence, _)| fence).collect()
    }
}

impl Leftovers {
    /// Gives `leftover` back, now or when the fences have signalled.
    pub fn add(&self, leftover: Leftover, fences: Vec<StreamFence>) {
        // A capture forbids to free, and so does a callback.
        if fences.is_empty() && !capturing::is_held_back() {
            drop(leftover);
        } else {
            self.list().push_back((leftover, fences));
        }
        self.look();
    }

    /// Gives back what is not in use any more, of the first two.
    pub fn look(&self) {
        if capturing::is_held_back() {
            return;
        }
        for _ in 0..2 {
            let Some((leftover, mut fences)) = self.list().pop_front() else { return };
            fences.retain(|fence| !fence.poll().is_ok_and(|status| status.is_signaled()));
            if fences.is_empty() {
                drop(leftover);
            } else {
                self.list().push_back((leftover, fences));
            }
        }
    }

    /// Waits for all of them. What may still be in use, because a device does not answer, is not given back at all.
    pub fn finish(&self) {
        loop {
            // It is dropped without the lock: it may have leftovers of its own.
            let Some((leftover, fences)) = self.list().pop_front() else { return };
            if fences.iter().all(|fence| fence.wait(None).is_ok()) {
                drop(leftover);
            } else {
                std::mem::forget(leftover);
            }
        }
    }

    fn list(&self) -> MutexGuard<'_, VecDeque<(Leftover, Vec<StreamFence>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
