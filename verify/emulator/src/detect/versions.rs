//! What was stored at a location by strong stores and atomics, and which of it a load may return.
//!
//! Memory holds one value, and a load in a schedule sees the newest. On a GPU a load may return an
//! older one, unless the reader knows of a newer: because causality orders the newer store before
//! it, or because the reader, or somebody it has heard from, has read the newer one already
//! (coherence). So the last few values of each location are kept, each with what was published
//! with it, and the seed now and then lets a load see an older one. A missing fence between
//! accesses that cannot race shows in values that way.
//!
//! A thread sees an old value only a few times: GPUs, too, show every store in the end.

use super::clock::{Clock, SUBS, Stamp};
use super::sync::Item;
use std::collections::VecDeque;

/// Versions of a location at most.
const VERSIONS: usize = 6;

/// Reads of a location that are remembered at most.
const READS: usize = 96;

/// How often a thread may see one value that is not the newest.
const TIMES: u32 = 3;

/// A store, and what was published with it and with the stores that its release sequence continues.
#[derive(Clone, Debug, Default)]
struct Version {
    /// `None`: wider than a register, or not known.
    value: Option<u64>,
    stamp: Stamp,
    /// It is the writing half of an atomic, whose other half read the version before.
    continues: bool,
    items: Vec<Item>,
}

/// A thread has read a version.
#[derive(Clone, Copy, Debug)]
struct Read {
    stamp: Stamp,
    version: u64,
    times: u32,
}

/// The versions of a location, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Location {
    versions: VecDeque<Version>,
    /// The number of the first of them.
    first: u64,
    reads: Vec<Read>,
}

impl Location {
    fn last(&self) -> u64 {
        (self.first + self.versions.len() as u64).saturating_sub(1)
    }

    /// The store that the newest one is of.
    pub fn newest(&self) -> Stamp {
        self.versions.back().map_or(Stamp::default(), |version| version.stamp)
    }

    /// What was published with a version, or with the newest.
    pub fn items(&self, version: Option<u64>) -> &[Item] {
        let at = version.unwrap_or(self.last()).checked_sub(self.first);
        let found = at.and_then(|at| self.versions.get(at as usize));
        found.map_or(&[], |version| &version.items)
    }

    /// A store that found `old` and left `new`; whether it is an atomic's. `keep` says which of what was published before
    /// stays so.
    pub fn store(
        &mut self,
        (old, new): (Option<u64>, Option<u64>),
        (stamp, continues): (Stamp, bool),
        keep: impl Fn(&Item) -> bool,
    ) -> &mut Vec<Item> {
        if self.versions.back().is_none_or(|last| last.value != old || old.is_none()) {
            // Somebody else has written here, or nobody: nothing older can be told apart.
            let items = self.versions.pop_back().map_or(Vec::new(), |last| last.items);
            self.first = self.last() + 1;
            self.versions.clear();
            let stamp = Stamp::default();
            self.versions.push_back(Version { value: old, stamp, continues: false, items });
        }
        let items = self.items(None).iter().filter(|item| keep(item)).cloned().collect();
        if self.versions.len() == VERSIONS {
            self.versions.pop_front();
            self.first += 1;
        }
        self.versions.push_back(Version { value: new, stamp, continues, items });
        let last = self.versions.len() - 1;
        &mut self.versions[last].items
    }

    /// The versions that lanes of a warp may read if memory holds `current`: from the first to the
    /// newest.
    fn visible(&self, unit: u32, known: &Clock, current: u64) -> std::ops::RangeInclusive<u64> {
        let last = self.last();
        if self.versions.back().is_none_or(|version| version.value != Some(current)) {
            return last..=last;
        }
        let knows = |stamp: Stamp| stamp.id / SUBS == unit || known.covers(stamp);
        let stored = self.versions.iter().rposition(|version| knows(version.stamp));
        let read =
            self.reads.iter().filter(|read| knows(read.stamp)).map(|read| read.version).max();
        let from = (self.first + stored.unwrap_or(0) as u64).max(read.unwrap_or(0));
        from.min(last)..=last
    }

    /// An older version that a thread may read in the place of the newest, and its value.
    pub fn older(
        &self,
        thread: u32,
        known: &Clock,
        current: u64,
        choose: impl FnOnce(usize) -> Option<usize>,
    ) -> Option<(u64, u64)> {
        let visible = self.visible(thread / SUBS, known, current);
        let older = visible.end() - visible.start();
        if older == 0 {
            return None;
        }
        let version = visible.start() + choose(older as usize)? as u64;
        let tired =
            |read: &Read| read.stamp.id == thread && read.version == version && read.times >= TIMES;
        if self.reads.iter().any(tired) {
            return None;
        }
        let value = self.versions[(version - self.first) as usize].value?;
        Some((version, value))
    }

    /// The stores that came after a version.
    pub fn newer(&self, version: u64) -> impl Iterator<Item = Stamp> + '_ {
        let from = (version + 1).saturating_sub(self.first) as usize;
        self.versions.iter().skip(from).map(|version| version.stamp)
    }

    /// Whether somebody has observed a store (8.9.2), by reading it or what atomics made of it, and that read is `known`.
    pub fn is_observed(&self, store: Stamp, known: impl Fn(Stamp) -> bool) -> bool {
        let Some(at) = self.versions.iter().position(|version| version.stamp == store) else {
            return false;
        };
        let more = self.versions.iter().skip(at + 1).take_while(|version| version.continues);
        let versions = self.first + at as u64..=self.first + (at + more.count()) as u64;
        self.reads.iter().any(|read| versions.contains(&read.version) && known(read.stamp))
    }

    /// A thread has read a version, or the newest.
    pub fn read(&mut self, stamp: Stamp, version: Option<u64>) {
        if self.versions.len() < 2 {
            return;
        }
        let version = version.unwrap_or(self.last());
        match self.reads.iter_mut().find(|r| r.stamp.id == stamp.id && r.version == version) {
            Some(read) => read.times += 1,
            None => self.reads.push(Read { stamp, version, times: 1 }),
        }
        if self.reads.len() > READS {
            let first = self.first;
            self.reads.retain(|read| read.version > first);
        }
        if self.reads.len() > READS {
            // Too many to remember: what they rule out goes instead.
            self.first = self.last();
            self.versions.drain(..self.versions.len() - 1);
            self.reads.clear();
        }
    }
}
