//! What is known of accesses to some memory only, and in which CTAs proxy fences stand on the way to an asynchronous access.
//!
//! Fences that are restricted to shared memory order accesses to the memory of one CTA ([`ByMemory`]); so does
//! `fence.proxy.async.shared::cta`, which does not reach a peer's.
//!
//! Where an ordinary access and an asynchronous one are of two CTAs of a cluster, the text does not say which of the
//! two has to fence: the CTA that made the first, before it hands the memory on, or the one that issues the second,
//! behind the hand-over. So it is remembered for each CTA of the cluster what the fences in it have covered, of shared
//! memory ([`Sides`]). Within one CTA the question does not come up, and nothing is kept.

use super::clock::{Clock, Stamp};

/// The shared memory of every CTA of the cluster, where a CTA's number stands for its own.
pub(super) const EVERY: u32 = u32::MAX;
/// No memory: what a fence did not order, kept for the report.
pub(super) const NONE: u32 = u32::MAX - 1;

/// For each CTA's shared memory, by the CTA's number, the accesses to it of which something is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ByMemory(Vec<(u32, Clock)>);

impl ByMemory {
    /// Accesses to a memory are among them.
    pub fn cover(&mut self, memory: u32, what: &Clock) {
        if what.is_empty() {
            return;
        }
        match self.0.iter_mut().find(|of| of.0 == memory) {
            Some(of) => of.1.join(what),
            None => self.0.push((memory, what.clone())),
        }
    }

    /// Knows what `other` knows, too.
    pub fn join(&mut self, other: &ByMemory) {
        for (memory, what) in &other.0 {
            self.cover(*memory, what);
        }
    }

    /// Knows of one memory what `other` knows of it.
    pub fn join_of(&mut self, memory: u32, other: &ByMemory) {
        for what in other.of(memory) {
            self.cover(memory, what);
        }
    }

    /// What is known of accesses to one memory.
    pub fn of(&self, memory: u32) -> impl Iterator<Item = &Clock> {
        self.0.iter().filter(move |of| of.0 == memory || of.0 == EVERY).map(|of| &of.1)
    }

    /// What is known of accesses to any memory, perhaps to another than they touched.
    pub fn all(&self) -> impl Iterator<Item = &Clock> {
        self.0.iter().map(|of| &of.1)
    }

    /// Whether an access to a memory is among them.
    pub fn covers(&self, memory: u32, stamp: Stamp) -> bool {
        self.of(memory).any(|what| what.covers(stamp))
    }

    /// Whether an access would be if it had been to the memory of another CTA.
    pub fn would_cover(&self, stamp: Stamp) -> bool {
        self.0.iter().any(|of| of.0 != NONE && of.1.covers(stamp))
    }

    /// Whether what a fence did not order at all covers it.
    pub fn in_vain(&self, stamp: Stamp) -> bool {
        self.0.iter().any(|of| of.0 == NONE && of.1.covers(stamp))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// For each CTA, by its number, what a fence in it has covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides(Vec<(u32, ByMemory)>);

impl Sides {
    /// What a fence in a CTA has covered.
    pub fn by(&mut self, cta: u32) -> &mut ByMemory {
        let at = self.0.iter().position(|side| side.0 == cta).unwrap_or_else(|| {
            self.0.push((cta, ByMemory::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Knows what `other` knows, too.
    pub fn join(&mut self, other: &Sides) {
        for (cta, what) in &other.0 {
            self.by(*cta).join(what);
        }
    }

    /// Knows of one memory what `other` knows of it.
    pub fn join_of(&mut self, memory: u32, other: &Sides) {
        for (cta, what) in &other.0 {
            self.by(*cta).join_of(memory, what);
        }
    }

    /// Whether a fence in that CTA has covered an access to a memory.
    pub fn covers(&self, cta: u32, memory: u32, stamp: Stamp) -> bool {
        self.0.iter().any(|side| side.0 == cta && side.1.covers(memory, stamp))
    }

    /// Whether a fence in any CTA has.
    pub fn reach(&self, memory: u32, stamp: Stamp) -> bool {
        self.0.iter().any(|side| side.1.covers(memory, stamp))
    }
}
