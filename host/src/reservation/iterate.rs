//! Walking over the fences, with the lock and without.
//!
//! Both take one fence out in each step, so that nothing is locked while the caller looks at it.

use super::fence::{Asking, Fence};
use super::lock::{Guard, Reservation};
use super::usage::{Usage, Usages};

impl<F: Fence> Reservation<F> {
    /// Walks over the fences that have not signalled, without the lock.
    pub fn unlocked(&self, query: impl Into<Usages>) -> Unlocked<'_, F> {
        Unlocked::new(self, query.into())
    }
}

impl<F: Fence, S> Guard<'_, F, S> {
    /// Walks over the fences that a query sees, signalled ones included.
    pub fn iter(&self, query: impl Into<Usages>) -> Locked<'_, F> {
        Locked::new(self.reservation(), query.into())
    }
}

/// The fences of a locked reservation. Made by [`Guard::iter`](super::Guard::iter).
#[derive(Debug)]
pub struct Locked<'g, F> {
    reservation: &'g Reservation<F>,
    query: Usages,
    next: usize,
}

impl<'g, F: Fence> Locked<'g, F> {
    fn new(reservation: &'g Reservation<F>, query: Usages) -> Self {
        Self { reservation, query, next: 0 }
    }
}

impl<F: Fence> Iterator for Locked<'_, F> {
    type Item = (F, Usage);

    fn next(&mut self) -> Option<Self::Item> {
        let list = self.reservation.list();
        loop {
            let slot = list.get(self.next)?;
            self.next += 1;
            if self.query.has(slot.usage) {
                return Some((slot.fence.clone(), slot.usage));
            }
        }
    }
}

/// A fence that was met without the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<F> {
    /// The fence. It had not signalled.
    pub fence: F,
    /// Its usage.
    pub usage: Usage,
    /// Whether the walk began, again or for the first time, with this one: forget what you gathered
    /// from those before.
    pub restarted: bool,
}

/// The unsignalled fences of a reservation that others may change meanwhile. Made by
/// [`Reservation::unlocked`].
///
/// A fence that takes the place of another may be met or missed; one that was there all the time is
/// met. When the list was swapped, the walk begins again and says so.
#[derive(Debug)]
pub struct Unlocked<'r, F> {
    reservation: &'r Reservation<F>,
    query: Usages,
    next: usize,
    /// The list that is walked, by how often it had been swapped; `None` before the first step.
    swaps: Option<u64>,
    /// Whether no fence of this list has been given out yet.
    fresh: bool,
}

impl<'r, F: Fence> Unlocked<'r, F> {
    fn new(reservation: &'r Reservation<F>, query: Usages) -> Self {
        Self { reservation, query, next: 0, swaps: None, fresh: true }
    }

    /// Whether the list has been swapped since the last step. A caller that has met the last fence
    /// need not ask: the walk does not end in a list that is gone.
    pub fn is_restarted(&self) -> bool {
        self.swaps.is_some_and(|swaps| swaps != self.reservation.list().swaps())
    }
}

impl<F: Fence> Iterator for Unlocked<'_, F> {
    type Item = Seen<F>;

    fn next(&mut self) -> Option<Self::Item> {
        let list = self.reservation.list();
        if self.swaps != Some(list.swaps()) {
            self.swaps = Some(list.swaps());
            self.next = 0;
            self.fresh = true;
        }
        loop {
            let slot = list.get(self.next)?;
            self.next += 1;
            if self.query.has(slot.usage) && !Asking::Allowed.status(&slot.fence).is_signaled() {
                let restarted = std::mem::take(&mut self.fresh);
                return Some(Seen { fence: slot.fence.clone(), usage: slot.usage, restarted });
            }
        }
    }
}
