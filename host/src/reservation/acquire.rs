//! What is done around one piece of work: lock what it touches, find what it must wait for, give it to
//! the device, record it.

use super::fence::{Asking, ContextId, Failure, Fence, Status};
use super::lock::{Guard, NoSlots, Reservation, Slots, Unreserved};
use super::plan::WaitPlan;
use super::usage::Access;

/// The resources of one piece of work, locked from before it is given to a device until its fence is
/// there.
///
/// Dropped without [`commit`](Acquired::commit), it leaves everything as it was: so work that the
/// device refused commits nothing.
#[must_use = "without `commit`, nobody will wait for the work"]
pub struct Acquired<'r, F> {
    resources: Vec<(Locked<'r, F>, Access)>,
    plan: WaitPlan<F>,
}

enum Locked<'r, F> {
    Reserved(Guard<'r, F, Slots>),
    /// There was no memory for another slot.
    Unreserved(Guard<'r, F, NoSlots>),
}

/// A resource cannot be accessed, because work that was to write it has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The place of the resource among those that were named, from 0.
    pub resource: usize,
    /// What failed.
    pub failure: Failure,
}

/// Locks `resources` for a piece of work of `context` that accesses them so, and makes a plan of what
/// the context must wait for.
///
/// The locks are taken in the order of ids, and one that is named more than once is locked once, for
/// the strongest access.
pub fn acquire<'r, F: Fence>(
    context: ContextId,
    resources: &[(&'r Reservation<F>, Access)],
    asking: Asking,
) -> Result<Acquired<'r, F>, Unknown> {
    let mut order: Vec<usize> = (0..resources.len()).collect();
    // The strongest access of each comes first.
    order.sort_unstable_by_key(|&index| {
        let (reservation, access) = resources[index];
        (reservation.id(), std::cmp::Reverse(access))
    });
    order.dedup_by_key(|index| resources[*index].0.id());

    let mut plan = WaitPlan::new(context);
    let mut locked = Vec::with_capacity(order.len());
    for resource in order {
        let (reservation, access) = resources[resource];
        let mut guard = reservation.lock();
        if asking == Asking::Forbidden {
            guard = guard.without_asking();
        }
        // Asks how far the fences are, where that is allowed, and so learns of failures.
        let guard = match guard.reserve(1) {
            Ok(guard) => Locked::Reserved(guard),
            Err(Unreserved { guard, .. }) => Locked::Unreserved(guard),
        };
        if let (true, Some(failure)) = (access.needs_contents(), reservation.failure()) {
            return Err(Unknown { resource, failure });
        }
        match &guard {
            Locked::Reserved(guard) => plan.require(guard, access),
            Locked::Unreserved(guard) => plan.require(guard, access),
        }
        locked.push((guard, access));
    }
    Ok(Acquired { resources: locked, plan })
}

impl<F: Fence> Acquired<'_, F> {
    /// What the context must wait for before the work.
    pub fn plan(&self) -> &WaitPlan<F> {
        &self.plan
    }

    /// Records `fence` as the end of the work, and releases the locks.
    ///
    /// Where there was no memory for a slot, the host waits for the fence instead.
    pub fn commit(self, fence: &F) {
        for (locked, access) in self.resources {
            match locked {
                Locked::Reserved(mut guard) => {
                    renew(&mut guard, access);
                    // A slot is reserved for exactly this, and the fence is of one context.
                    let added = guard.add(fence.clone(), access.adds_as());
                    debug_assert_eq!(added, Ok(()));
                }
                Locked::Unreserved(mut guard) => {
                    renew(&mut guard, access);
                    let ended = match fence.wait(None) {
                        Ok(Status::Failed(failure)) | Err(failure) => Err(failure),
                        Ok(_) => Ok(()),
                    };
                    if let (Err(failure), true) = (ended, access.writes()) {
                        guard.fail(failure);
                    }
                }
            }
        }
    }
}

/// New contents end what is remembered of failed writers.
fn renew<F: Fence, S>(guard: &mut Guard<'_, F, S>, access: Access) {
    if access == Access::Overwrite {
        guard.forgive();
    }
}
