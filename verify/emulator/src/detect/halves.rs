//! One-way fences from the generic proxy to the async proxy.
//!
//! A release half (`fence.proxy.async::generic.release`) stands behind ordinary accesses, an acquire half before accesses of the
//! async proxy, in their CTA. Both take part in patterns as other fences do, but the order that comes of it holds only
//! for what the async proxy does later. An access of the async proxy needs no release half: its end is one. Only so is
//! there any order between asynchronous accesses that two CTAs issue (8.9.5 has them of one thread block).
//!
//! | form | what it covers |
//! |---|---|
//! | `release.sync_restrict::shared::cta` | what the thread has done and seen, of its own CTA's memory |
//! | `release.sync_restrict::shared::cluster::read` | the reads that the thread itself has done |
//! | `acquire.sync_restrict::shared::cluster` | what a release half has covered, and what has ended |

use super::clock::{Clock, Stamp};
use super::sides::{ByMemory, EVERY};
use super::strand::{OwnHalves, Published};

/// What is known by way of one-way fences, or would have to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Halves {
    /// Is before later accesses of the async proxy in causality order, if perhaps not before others.
    pub before: ByMemory,
    /// Ordinary accesses that a release half has covered.
    released: ByMemory,
    /// Ordinary reads that a release half for reads has: those are before later accesses of the async proxy, too.
    reads: ByMemory,
    /// What a release half would have covered if it were for all memory and all accesses.
    wide: Clock,
    /// For each CTA what an acquire half in it comes after.
    acquired: Vec<(u32, Acquired)>,
}

/// What an acquire half comes after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Acquired {
    released: ByMemory,
    reads: ByMemory,
    /// Accesses of the async proxy, complete and before it.
    ended: ByMemory,
    /// The same, complete in whatever way that became known.
    done: Clock,
}

impl Acquired {
    fn join(&mut self, other: &Acquired) {
        self.released.join(&other.released);
        self.reads.join(&other.reads);
        self.ended.join(&other.ended);
        self.done.join(&other.done);
    }

    fn join_of(&mut self, memory: u32, other: &Acquired) {
        self.released.join_of(memory, &other.released);
        self.reads.join_of(memory, &other.reads);
        self.ended.join_of(memory, &other.ended);
        self.done.join(&other.done);
    }
}

impl Halves {
    /// Knows what `other` knows, too.
    pub fn join(&mut self, other: &Halves) {
        self.before.join(&other.before);
        self.released.join(&other.released);
        self.reads.join(&other.reads);
        self.wide.join(&other.wide);
        for (cta, what) in &other.acquired {
            self.by(*cta).join(what);
        }
    }

    /// Knows of one CTA's memory what `other` knows of it.
    pub fn join_of(&mut self, memory: u32, other: &Halves) {
        self.before.join_of(memory, &other.before);
        self.released.join_of(memory, &other.released);
        self.reads.join_of(memory, &other.reads);
        self.wide.join(&other.wide);
        for (cta, what) in &other.acquired {
            self.by(*cta).join_of(memory, what);
        }
    }

    fn by(&mut self, cta: u32) -> &mut Acquired {
        let at = self.acquired.iter().position(|half| half.0 == cta).unwrap_or_else(|| {
            self.acquired.push((cta, Acquired::default()));
            self.acquired.len() - 1
        });
        &mut self.acquired[at].1
    }

    fn of(&self, cta: u32) -> Option<&Acquired> {
        self.acquired.iter().find(|half| half.0 == cta).map(|half| &half.1)
    }

    /// What release halves by a thread that knows `now` cover, beside its own accesses: of others' to the memory of a CTA,
    /// or none if it is for reads, which is not cumulative.
    pub fn release(memory: u32, now: &Published, reads: bool) -> Halves {
        let mut halves = Halves::default();
        halves.wide.join(&now.c);
        now.s.all().for_each(|known| halves.wide.join(known));
        if reads {
            return halves;
        }
        let mut covered = now.c.clone();
        now.s.of(memory).for_each(|known| covered.join(known));
        if let Some(known) = &now.halves {
            halves.join_of(memory, known);
            known.before.of(memory).for_each(|known| covered.join(known));
        }
        halves.before.cover(memory, &covered);
        halves.released.cover(memory, &covered);
        halves
    }

    /// Own accesses of a thread have been covered, too; `raise` enters them up to an epoch.
    pub fn raise(&mut self, own: OwnHalves, raise: impl Fn(&mut Clock, u32)) {
        let up_to = |epoch| {
            let mut clock = Clock::default();
            raise(&mut clock, epoch);
            clock
        };
        let (released, reads) = (up_to(own.released), up_to(own.reads));
        self.before.cover(own.memory, &released);
        self.released.cover(own.memory, &released);
        self.reads.cover(EVERY, &reads);
        self.wide.join(&released);
        self.wide.join(&reads);
    }

    /// An acquire half in a CTA comes after what a thread knows.
    pub fn acquire(&mut self, cta: u32, now: &Published) {
        let Halves { before, released, reads, .. } = self;
        let (released, reads) = (released.clone(), reads.clone());
        let mut after = Acquired { released, reads, ..Acquired::default() };
        after.ended.cover(EVERY, &now.c);
        after.ended.join(&now.s);
        after.ended.join(before);
        after.done.join(&now.d);
        self.by(cta).join(&after);
    }

    /// An acquire half in a CTA comes after what it does in `other`.
    pub fn acquire_as(&mut self, cta: u32, other: &Halves) {
        if let Some(after) = other.of(cta) {
            self.by(cta).join(after);
        }
    }

    /// A fence without direction in a CTA covers what the async proxy alone comes after, too.
    pub fn ordered(&self) -> impl Iterator<Item = &Clock> {
        self.before.all().chain(self.reads.all())
    }

    /// Whether an ordinary access, perhaps a `read`, is before accesses of the async proxy.
    pub fn order(&self, memory: u32, stamp: Stamp, read: bool) -> bool {
        self.before.covers(memory, stamp) || read && self.reads.covers(memory, stamp)
    }

    /// Whether a release half has covered it.
    pub fn is_released(&self, memory: u32, stamp: Stamp, read: bool) -> bool {
        self.released.covers(memory, stamp) || read && self.reads.covers(memory, stamp)
    }

    /// Whether one would have if it were not restricted as it is.
    pub fn is_missed(&self, memory: u32, stamp: Stamp, read: bool) -> bool {
        self.wide.covers(stamp) && !self.is_released(memory, stamp, read)
    }

    /// Whether a release half stood on the way from it, whatever that covers.
    pub fn is_met(&self, stamp: Stamp) -> bool {
        self.wide.covers(stamp)
    }

    /// Whether there was an acquire half in a CTA.
    pub fn has_acquired(&self, cta: u32) -> bool {
        self.of(cta).is_some()
    }

    /// Whether both halves lead from it to accesses that a CTA issues.
    pub fn lead(&self, cta: u32, memory: u32, stamp: Stamp, read: bool) -> bool {
        self.of(cta).is_some_and(|half| {
            half.released.covers(memory, stamp) || read && half.reads.covers(memory, stamp)
        })
    }

    /// Whether an acquire half in a CTA comes after an access of the async proxy.
    pub fn end(&self, cta: u32, memory: u32, stamp: Stamp) -> bool {
        self.of(cta).is_some_and(|half| half.ended.covers(memory, stamp))
    }

    /// Whether it comes after one that is complete.
    pub fn is_done(&self, cta: u32, stamp: Stamp) -> bool {
        self.of(cta).is_some_and(|half| half.done.covers(stamp))
    }
}
