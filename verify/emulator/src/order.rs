//! Which of the warps that can run is next.
//!
//! Uniform chance finds what needs few steps in an unusual order; it seldom lets one warp run far
//! ahead or stay far behind. So some runs have priorities that change now and then (probabilistic
//! concurrency testing: Burckhardt et al., ASPLOS 2010), and in some one warp runs only when
//! nothing else can.

use crate::rng::Rng;

/// Turns in a row after which a warp with priority gives way, since it may wait for another in a
/// loop that looks like work; and turns of others after which the last has one, too.
const PATIENCE: u32 = 24;

/// How a run orders its warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Any of them, all alike.
    Uniform,
    /// The one of the highest priority, which it loses once in so many turns.
    Priorities { change: usize },
    /// This one, counted around, only when no other can run.
    Last(u32),
}

/// The order of a run.
#[derive(Debug)]
pub(crate) struct Order {
    habit: Habit,
    seed: u64,
    /// Warps that have lost their priority, the last of them the lowest.
    demoted: Vec<u32>,
    current: u32,
    turns: u32,
}

impl Order {
    pub fn new(habit: Habit, seed: u64) -> Order {
        Order { habit, seed, demoted: Vec::new(), current: u32::MAX, turns: 0 }
    }

    fn priority(&self, warp: u32) -> (usize, u64) {
        let at = self.demoted.iter().rposition(|&w| w == warp).map_or(0, |at| at + 1);
        let chance = (self.seed ^ u64::from(warp)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (at, chance ^ chance >> 29)
    }

    /// A position in `ready`, the warps that can run, of which there is one.
    pub fn choose(&mut self, ready: &[u32], rng: &mut Rng) -> usize {
        match self.habit {
            Habit::Uniform => rng.below(ready.len()),
            Habit::Last(last) => {
                let i = rng.below(ready.len());
                self.turns = (self.turns + 1) % (2 * PATIENCE);
                let others = ready.len() > 1 && ready[i] == last && self.turns != 0;
                if others { (i + 1) % ready.len() } else { i }
            }
            Habit::Priorities { change } => {
                let best = (0..ready.len()).min_by_key(|&i| self.priority(ready[i]));
                let i = best.unwrap_or(0);
                let warp = ready[i];
                self.turns = if warp == self.current { self.turns + 1 } else { 0 };
                self.current = warp;
                if self.turns > PATIENCE || rng.one_in(change) {
                    self.demoted.retain(|&w| w != warp);
                    self.demoted.push(warp);
                    self.turns = 0;
                }
                i
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_last_until_they_are_lost() {
        let mut order = Order::new(Habit::Priorities { change: usize::MAX }, 5);
        let mut rng = Rng::new(1);
        let ready = [3, 8, 11, 40];
        let first = order.choose(&ready, &mut rng);
        assert!((0..PATIENCE).all(|_| order.choose(&ready, &mut rng) == first));
        order.choose(&ready, &mut rng);
        assert_ne!(order.choose(&ready, &mut rng), first);
    }

    #[test]
    fn the_last_runs_alone_only() {
        let mut order = Order::new(Habit::Last(8), 5);
        let mut rng = Rng::new(1);
        assert!((1..2 * PATIENCE).all(|_| order.choose(&[3, 8, 11], &mut rng) != 1));
        assert_eq!(order.choose(&[8], &mut rng), 0);
    }
}
