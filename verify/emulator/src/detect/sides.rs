//! In which CTAs proxy fences stand on the way to an asynchronous access.
//!
//! Where an ordinary access and an asynchronous one are of two CTAs of a cluster, the text does not say which of the
//! two has to fence: the CTA that made the first, before it hands the memory on, or the one that issues the second,
//! behind the hand-over. So it is remembered for each CTA of the cluster what the fences in it have covered, of shared
//! memory. Within one CTA the question does not come up, and nothing is kept.

use super::clock::{Clock, Stamp};

/// For each CTA, by its number, what a fence in it has covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides(Vec<(u32, Clock)>);

impl Sides {
    /// A fence in a CTA covers this, too.
    pub fn cover(&mut self, cta: u32, what: &Clock) {
        match self.0.iter_mut().find(|side| side.0 == cta) {
            Some(side) => side.1.join(what),
            None => self.0.push((cta, what.clone())),
        }
    }

    /// Knows what `other` knows, too.
    pub fn join(&mut self, other: &Sides) {
        for (cta, what) in &other.0 {
            self.cover(*cta, what);
        }
    }

    /// Whether a fence in that CTA has covered an access.
    pub fn covers(&self, cta: u32, stamp: Stamp) -> bool {
        self.0.iter().any(|side| side.0 == cta && side.1.covers(stamp))
    }
}
