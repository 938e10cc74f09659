//! Vector clocks: what somebody knows to have happened.
//!
//! A *component* is something whose accesses complete in the order of its own counter, so that one
//! number says which of them are known. Threads are one kind. The others are the asynchronous
//! operations of a thread that one wait completes in order (its multiplications up to a commit,
//! its bulk groups, its tensor loads), and the copies that complete on an mbarrier, by phase.
//! Because each counts up for as long as it lives, none has to be recycled while a clock names it.
//!
//! A warp is 33 components: one for all its lanes together, which is what a barrier of the whole
//! warp raises, and one for each lane, needed only while lanes go their own ways.

use crate::ir::LANES;

/// Components of one unit: the unit as a whole, then its lanes.
pub(super) const SUBS: u32 = 64;

/// An event of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Unit times [`SUBS`], plus one more than the lane, or plus nothing.
    pub id: u32,
    pub epoch: u32,
}

/// For each component the last event that is known; sorted by component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<(u32, u32)>);

impl Clock {
    pub fn get(&self, id: u32) -> u32 {
        match self.0.binary_search_by_key(&id, |e| e.0) {
            Ok(at) => self.0[at].1,
            Err(_) => 0,
        }
    }

    pub fn raise(&mut self, stamp: Stamp) {
        if stamp.epoch == 0 {
            return;
        }
        match self.0.binary_search_by_key(&stamp.id, |e| e.0) {
            Ok(at) => self.0[at].1 = self.0[at].1.max(stamp.epoch),
            Err(at) => self.0.insert(at, (stamp.id, stamp.epoch)),
        }
    }

    /// Knows what `other` knows, too.
    pub fn join(&mut self, other: &Clock) {
        let mut at = 0;
        let mut missing = false;
        for &(id, epoch) in &other.0 {
            while at < self.0.len() && self.0[at].0 < id {
                at += 1;
            }
            match self.0.get_mut(at) {
                Some(mine) if mine.0 == id => mine.1 = mine.1.max(epoch),
                _ => missing = true,
            }
        }
        if !missing {
            return;
        }
        let mut merged = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            match (mine.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    merged.push((a.0, a.1.max(b.1)));
                    mine.next();
                    theirs.next();
                }
                (Some(&&a), Some(b)) if a.0 < b.0 => {
                    merged.push(a);
                    mine.next();
                }
                (_, Some(&&b)) => {
                    merged.push(b);
                    theirs.next();
                }
                (Some(&&a), None) => {
                    merged.push(a);
                    mine.next();
                }
                (None, None) => break,
            }
        }
        self.0 = merged;
    }

    /// Whether an event is known, by itself, with its whole unit, or lane by lane.
    #[inline]
    pub fn covers(&self, stamp: Stamp) -> bool {
        let whole = stamp.id & !(SUBS - 1);
        self.get(whole) >= stamp.epoch
            || if stamp.id == whole {
                (1..=LANES as u32).all(|lane| self.get(whole + lane) >= stamp.epoch)
            } else {
                self.get(stamp.id) >= stamp.epoch
            }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The components of which it knows anything.
    pub fn components(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|entry| entry.0)
    }

    /// What it knows of some components.
    pub fn only(&self, which: impl Fn(u32) -> bool) -> Clock {
        Clock(self.0.iter().copied().filter(|entry| which(entry.0)).collect())
    }

    /// Forgets the lanes of a unit of which more is known as a whole.
    pub fn compact(&mut self, unit: u32) {
        let whole = self.get(unit * SUBS);
        self.0.retain(|&(id, epoch)| id / SUBS != unit || id % SUBS == 0 || epoch > whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(entries: &[(u32, u32)]) -> Clock {
        let mut clock = Clock::default();
        for &(id, epoch) in entries {
            clock.raise(Stamp { id, epoch });
        }
        clock
    }

    #[test]
    fn joining_keeps_the_later() {
        let mut a = clock(&[(64, 3), (128, 1)]);
        a.join(&clock(&[(65, 2), (128, 5), (7, 1)]));
        assert_eq!(a, clock(&[(7, 1), (64, 3), (65, 2), (128, 5)]));
        a.join(&clock(&[(128, 4)]));
        assert_eq!(a.get(128), 5);
        assert_eq!(a.get(9), 0);
    }

    #[test]
    fn a_lane_is_known_with_its_warp() {
        let a = clock(&[(64, 3), (66, 9)]);
        let of = |id, epoch| a.covers(Stamp { id, epoch });
        assert!(of(65, 3) && !of(65, 4) && of(66, 9) && !of(67, 9) && of(64, 3));
    }

    #[test]
    fn compaction_drops_what_the_whole_covers() {
        let mut a = clock(&[(64, 3), (65, 2), (66, 9), (130, 1)]);
        a.compact(1);
        assert_eq!(a, clock(&[(64, 3), (66, 9), (130, 1)]));
    }
}
