//! The list of fences, and the two questions on which everything rests: which slot may a new fence
//! take, and which slots must a query see.

use super::fence::{Asking, Failure, Fence, Status};
use super::usage::{Usage, Usages};

/// The fewest slots that a list that has any has.
const FIRST: usize = 4;

#[derive(Debug)]
pub(super) struct Slot<F> {
    pub fence: F,
    pub usage: Usage,
}

#[derive(Debug)]
pub(super) struct List<F> {
    slots: Vec<Slot<F>>,
    /// How many slots the list may have before it is swapped for a larger one. `slots` has room for
    /// as many, so that adding within it never allocates.
    max: usize,
    /// How often the list was swapped.
    swaps: u64,
    /// The most that `max` may become.
    limit: usize,
    /// The first failure of a writer whose fence has left the list.
    failure: Option<Failure>,
}

/// There is not enough memory for the list.
#[derive(Debug)]
pub(super) struct OutOfMemory;

impl<F: Fence> List<F> {
    pub fn new(limit: usize) -> Self {
        Self { slots: Vec::new(), max: 0, swaps: 0, limit, failure: None }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn max(&self) -> usize {
        self.max
    }

    pub fn swaps(&self) -> u64 {
        self.swaps
    }

    pub fn get(&self, index: usize) -> Option<&Slot<F>> {
        self.slots.get(index)
    }

    /// The slots that a query for `usages` sees, the signalled ones included.
    pub fn seen_by(&self, usages: Usages) -> impl Iterator<Item = &Slot<F>> {
        self.slots.iter().filter(move |slot| usages.has(slot.usage))
    }

    /// Makes room for `more` fences. A list that has to grow drops the signalled ones.
    pub fn reserve(&mut self, more: usize, asking: Asking) -> Result<(), OutOfMemory> {
        let needed = self.len().checked_add(more).ok_or(OutOfMemory)?;
        if needed <= self.max {
            return Ok(());
        }
        let max = match self.max {
            0 => needed.checked_next_power_of_two().ok_or(OutOfMemory)?.max(FIRST),
            max => needed.max(max.saturating_mul(2)),
        };
        if needed > self.limit {
            return Err(OutOfMemory);
        }
        let max = max.min(self.limit);
        let mut larger = Vec::new();
        larger.try_reserve_exact(max).map_err(|_| OutOfMemory)?;
        for slot in std::mem::take(&mut self.slots) {
            match asking.status(&slot.fence) {
                Status::Pending => larger.push(slot),
                ended => self.leave(slot.usage, ended),
            }
        }
        self.swap(larger, max);
        Ok(())
    }

    fn swap(&mut self, slots: Vec<Slot<F>>, max: usize) {
        self.slots = slots;
        self.max = max;
        self.swaps += 1;
    }

    /// The slot that `fence` takes as `usage`, if it needs no new one.
    ///
    /// Every query that saw the slot's fence sees the new one, and the new one signals no earlier: so
    /// nobody who would have waited for the old one goes on too early.
    fn place(&self, fence: &F, usage: Usage, asking: Asking) -> Place {
        let covered = |slot: &Slot<F>| slot.usage <= usage && slot.fence.is_later_or_same(fence);
        if self.slots.iter().any(covered) {
            return Place::Covered;
        }
        // What is known comes first: asking a device costs more than looking at the list twice.
        let known = self.slots.iter().position(|slot| {
            (slot.usage >= usage && fence.is_later_or_same(&slot.fence))
                || slot.fence.status().is_signaled()
        });
        let asked = || self.slots.iter().position(|slot| asking.status(&slot.fence).is_signaled());
        known.or_else(asked).map_or(Place::Append, Place::At)
    }

    /// Adds a fence, in a new slot only if `may_append`.
    pub fn add(&mut self, fence: F, usage: Usage, may_append: bool, asking: Asking) -> Added {
        match self.place(&fence, usage, asking) {
            Place::Covered => Added::InPlace,
            Place::At(index) => {
                let old = std::mem::replace(&mut self.slots[index], Slot { fence, usage });
                self.leave(old.usage, old.fence.status());
                Added::InPlace
            }
            Place::Append if may_append && self.len() < self.max => {
                self.slots.push(Slot { fence, usage });
                Added::Appended
            }
            Place::Append => Added::NoSlot,
        }
    }

    /// Puts `fence` in the place of every fence of its context, whatever their usage.
    pub fn replace(&mut self, context: super::ContextId, fence: &F, usage: Usage) -> usize {
        let mut replaced = 0;
        for index in 0..self.slots.len() {
            if self.slots[index].fence.context() == context {
                let new = Slot { fence: fence.clone(), usage };
                let old = std::mem::replace(&mut self.slots[index], new);
                self.leave(old.usage, old.fence.status());
                replaced += 1;
            }
        }
        replaced
    }

    /// The fences that have not signalled, with their usages.
    pub fn unsignaled(&self, usages: Usages, asking: Asking) -> Vec<(F, Usage)> {
        self.seen_by(usages)
            .filter(|slot| !asking.status(&slot.fence).is_signaled())
            .map(|slot| (slot.fence.clone(), slot.usage))
            .collect()
    }

    /// Takes over fences and failure of another list.
    pub fn copy_from(
        &mut self,
        fences: Vec<(F, Usage)>,
        failure: Option<Failure>,
    ) -> Result<(), OutOfMemory> {
        let max = fences.len().next_power_of_two().max(FIRST);
        let mut slots = Vec::new();
        slots.try_reserve_exact(max).map_err(|_| OutOfMemory)?;
        slots.extend(fences.into_iter().map(|(fence, usage)| Slot { fence, usage }));
        self.swap(slots, max);
        self.failure = failure;
        Ok(())
    }

    /// Drops the signalled fences without growing.
    pub fn prune(&mut self, asking: Asking) {
        let mut index = 0;
        while let Some(slot) = self.slots.get(index) {
            match asking.status(&slot.fence) {
                Status::Pending => index += 1,
                ended => {
                    let usage = self.slots.swap_remove(index).usage;
                    self.leave(usage, ended);
                    // The last slot has moved, and who walks along must begin again.
                    self.swaps += 1;
                }
            }
        }
    }

    /// The first failure of a writer, whether its fence is still here or not.
    pub fn failure(&self) -> Option<Failure> {
        let here = || {
            self.seen_by(Usage::Write.query()).find_map(|slot| match slot.fence.status() {
                Status::Failed(failure) => Some(failure),
                _ => None,
            })
        };
        self.failure.clone().or_else(here)
    }

    /// Remembers a failed writer that has no slot.
    pub fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Forgets the failures of writers that are known so far, because the contents are new.
    pub fn forgive(&mut self) {
        let before = self.slots.len();
        self.slots.retain(|slot| {
            slot.usage > Usage::Write || !matches!(slot.fence.status(), Status::Failed(_))
        });
        self.swaps += u64::from(self.slots.len() != before);
        self.failure = None;
    }

    /// A fence leaves the list: if it was a writer's and failed, that stays.
    fn leave(&mut self, usage: Usage, status: Status) {
        if let (Usage::Kernel | Usage::Write, Status::Failed(failure)) = (usage, status) {
            self.fail(failure);
        }
    }
}

enum Place {
    /// A fence in the list implies it at this usage: a query that would see it waits at least as long.
    Covered,
    At(usize),
    Append,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    InPlace,
    Appended,
    NoSlot,
}
