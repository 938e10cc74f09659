//! The reservation itself, and what may be done to it while its lock is held.

use std::fmt;
use std::marker::PhantomData;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fence::{Asking, ContextId, Failure, Fence};
use super::merge::Merged;
use super::slots::{Added, List, OutOfMemory};
use super::sync::{Mutex, MutexGuard};
use super::usage::{Usage, Usages};

/// The fences of one resource.
///
/// See the [module](super) for what it is for.
pub struct Reservation<F> {
    id: u64,
    /// Held while work is planned, submitted and recorded.
    lock: Mutex<()>,
    /// Held for single steps. Whoever needs both takes `lock` first.
    list: Mutex<List<F>>,
}

impl<F: Fence> Reservation<F> {
    /// A reservation without fences.
    pub fn new() -> Self {
        Self::with_limit(usize::MAX)
    }

    /// A reservation whose list does not grow beyond `limit` fences: where that is not enough, it is
    /// out of memory.
    pub fn with_limit(limit: usize) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            lock: Mutex::new(()),
            list: Mutex::new(List::new(limit)),
        }
    }

    /// Its number, by which [`lock_many`] orders.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the lock. A thread that holds it already must not ask for it again.
    pub fn lock(&self) -> Guard<'_, F> {
        // A panic elsewhere leaves the list well formed: every step of it is a single replacement.
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        Guard { reservation: self, left: 0, asking: Asking::Allowed, lock, slots: PhantomData }
    }

    /// The fences that a query sees and that have not signalled: a copy, taken in one step.
    pub fn fences(&self, query: impl Into<Usages>) -> Vec<(F, Usage)> {
        self.list().unsignaled(query.into(), Asking::Allowed)
    }

    /// Why the contents are unknown: the first failure of work that was to write them, if it is known
    /// and nothing has overwritten them since.
    pub fn failure(&self) -> Option<Failure> {
        self.list().failure()
    }

    pub(super) fn list(&self) -> MutexGuard<'_, List<F>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Fence> Default for Reservation<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F> fmt::Debug for Reservation<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("id", &self.id).finish_non_exhaustive()
    }
}

/// No slot is reserved under this lock: the state of a [`Guard`] that was just taken.
#[derive(Clone, Copy, Debug)]
pub struct NoSlots;

/// Slots are reserved under this lock.
#[derive(Clone, Copy, Debug)]
pub struct Slots;

/// States of a [`Guard`] in which fences can be added.
#[diagnostic::on_unimplemented(
    message = "no slot of the reservation is reserved: the lock is held with `{Self}`",
    label = "a fence without a slot",
    note = "rule G2: a fence is added only to a slot that was reserved under the same lock, because work that was given to a device must not fail to be recorded",
    note = "reserve before the work is given to the device: `let mut guard = reservation.lock().reserve(1)?;`"
)]
pub trait HasSlots: sealed::Sealed {}

impl HasSlots for Slots {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Slots {}
    impl Sealed for super::NoSlots {}
}

/// A reservation's lock, held.
///
/// `S` says whether slots were reserved. They belong to the guard, so unlocking gives them up.
#[must_use = "the lock is released when the guard is dropped"]
pub struct Guard<'r, F, S = NoSlots> {
    reservation: &'r Reservation<F>,
    /// Slots that were reserved and not used up.
    left: usize,
    asking: Asking,
    lock: MutexGuard<'r, ()>,
    slots: PhantomData<S>,
}

impl<'r, F: Fence, S> Guard<'r, F, S> {
    /// Makes sure that `count` fences can be added before the lock is released.
    ///
    /// Reserving again does not add up: what counts is the greatest number that was asked for and is
    /// not used up. A fence that takes the slot of another uses none up.
    pub fn reserve(mut self, count: usize) -> Result<Guard<'r, F, Slots>, Unreserved<'r, F, S>> {
        if count == 0 {
            return Err(Unreserved { guard: self, reason: ReserveError::Nothing });
        }
        let reserved = self.reservation.list().reserve(count, self.asking);
        if let Err(OutOfMemory) = reserved {
            return Err(Unreserved { guard: self, reason: ReserveError::OutOfMemory { count } });
        }
        self.left = self.left.max(count);
        Ok(self.into_state())
    }

    fn into_state<T>(self) -> Guard<'r, F, T> {
        let Self { reservation, left, asking, lock, .. } = self;
        Guard { reservation, left, asking, lock, slots: PhantomData }
    }

    /// Adds a fence to a reserved slot.
    ///
    /// The first slot whose fence it outlives is taken: one that has signalled, or one of the same
    /// context, not later than the fence and of a usage that is no stricter. Where a fence that is
    /// already there implies this one, because it is of the same context, not earlier and at least as
    /// strict, nothing changes; so adding a writer again as a reader does not lose the writer.
    pub fn add(&mut self, fence: impl Into<Merged<F>>, usage: Usage) -> Result<(), AddError>
    where
        S: HasSlots,
    {
        let Merged::One(fence) = fence.into() else { return Err(AddError::Composite) };
        let context = fence.context();
        match self.reservation.list().add(fence, usage, self.left > 0, self.asking) {
            Added::InPlace => Ok(()),
            Added::Appended => {
                self.left -= 1;
                Ok(())
            }
            Added::NoSlot => Err(AddError::NoSlot { context }),
        }
    }

    /// Puts `fence` in the place of every fence of `context`, whatever their usages, and says how many
    /// there were. The caller knows that it signals after what those stood for.
    pub fn replace(&mut self, context: ContextId, fence: &F, usage: Usage) -> usize {
        self.reservation.list().replace(context, fence, usage)
    }

    /// Drops all fences and takes over those of `source` that have not signalled, with their usages,
    /// and its failure.
    pub fn copy_from(&mut self, source: &Reservation<F>) -> Result<(), ReserveError> {
        let (fences, failure) = {
            let list = source.list();
            (list.unsignaled(Usages::all(), self.asking), list.failure())
        };
        let count = fences.len();
        let copied = self.reservation.list().copy_from(fences, failure);
        // What was reserved was reserved in the list that is gone.
        self.left = 0;
        copied.map_err(|OutOfMemory| ReserveError::OutOfMemory { count })
    }

    /// From now on, no device is asked how far a fence is: only what is known already counts.
    ///
    /// While a stream's work is captured, asking is an error of the driver.
    pub fn without_asking(mut self) -> Self {
        self.asking = Asking::Forbidden;
        self
    }

    /// Forgets that writers failed: the caller has replaced all of the contents, or is about to, with
    /// work that waits for them.
    pub fn forgive(&mut self) {
        self.reservation.list().forgive();
    }

    /// Remembers that work which was to write has failed, where it has no fence.
    pub fn fail(&mut self, failure: Failure) {
        self.reservation.list().fail(failure);
    }

    /// Drops the fences that have signalled.
    pub fn prune(&mut self) {
        self.reservation.list().prune(self.asking);
    }

    /// The reservation that is locked.
    pub fn reservation(&self) -> &'r Reservation<F> {
        self.reservation
    }

    /// How many slots the list has before it must grow, used or not.
    pub fn capacity(&self) -> usize {
        self.reservation.list().max()
    }

    /// Releases the lock.
    #[rustfmt::skip]
    pub fn unlock(
        self, // rule G2: unlocking gives up the slots that were reserved; lock and reserve again
    ) {
        drop(self.lock);
    }
}

impl<F, S> fmt::Debug for Guard<'_, F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("reservation", &self.reservation.id)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// Slots could not be reserved. The lock is still held, so that the caller can do something else
/// about the work.
pub struct Unreserved<'r, F, S> {
    /// The lock.
    pub guard: Guard<'r, F, S>,
    /// Why.
    pub reason: ReserveError,
}

impl<F, S> fmt::Debug for Unreserved<'_, F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unreserved")
            .field("guard", &self.guard)
            .field("reason", &self.reason)
            .finish()
    }
}

impl<F, S> From<Unreserved<'_, F, S>> for ReserveError {
    fn from(unreserved: Unreserved<'_, F, S>) -> Self {
        unreserved.reason
    }
}

/// Why slots could not be reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReserveError {
    /// None were asked for.
    Nothing,
    /// The list could not grow.
    OutOfMemory {
        /// The slots that were asked for.
        count: usize,
    },
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str(
                "no slots were asked for: reserve at least one for each fence that will be added",
            ),
            Self::OutOfMemory { count } => write!(
                f,
                "there is no memory for {count} more fences: wait on the host for those that are there"
            ),
        }
    }
}

impl std::error::Error for ReserveError {}

/// Why a fence was not added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddError {
    /// All slots that were reserved under this lock are used up.
    NoSlot {
        /// The context of the fence.
        context: ContextId,
    },
    /// The fence stands for several contexts.
    Composite,
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlot { context } => write!(
                f,
                "the slots that were reserved are used up and {context} has none: reserve one for each fence (rule G2)"
            ),
            Self::Composite => f.write_str(
                "a fence that stands for several contexts cannot be added, because no later one could take its place: add its parts",
            ),
        }
    }
}

impl std::error::Error for AddError {}

/// Locks several reservations, in an order that all callers share, and gives the guards in the
/// order asked for.
///
/// Two threads that lock the same ones in opposite orders therefore do not block each other. One that
/// is named twice is an error, because its second lock would never come.
pub fn lock_many<'r, F: Fence>(
    reservations: &[&'r Reservation<F>],
) -> Result<Vec<Guard<'r, F>>, Duplicate> {
    let mut order: Vec<usize> = (0..reservations.len()).collect();
    order.sort_unstable_by_key(|&index| reservations[index].id);
    let same = order.windows(2).find(|pair| reservations[pair[0]].id == reservations[pair[1]].id);
    if let Some(pair) = same {
        return Err(Duplicate { first: pair[0].min(pair[1]), second: pair[0].max(pair[1]) });
    }
    let mut guards: Vec<_> =
        order.into_iter().map(|index| (index, reservations[index].lock())).collect();
    guards.sort_unstable_by_key(|(index, _)| *index);
    Ok(guards.into_iter().map(|(_, guard)| guard).collect())
}

/// A reservation was to be locked twice at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The place where it stood first.
    pub first: usize,
    /// The place where it stood again.
    pub second: usize,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second } = self;
        write!(
            f,
            "reservations {first} and {second} (from 0) are the same: name it once, with the stronger access"
        )
    }
}

impl std::error::Error for Duplicate {}
