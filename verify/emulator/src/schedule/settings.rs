//! The habits of a run, which follow from its seed.

use crate::async_ops::Action;
use crate::launch::{Options, Schedule};
use crate::order::Habit;
use crate::rng::Rng;

/// Agents of one kind, which a run may starve: they step only when nothing else can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starved {
    Nobody,
    CopiesIn,
    CopiesOut,
    Tensor,
}

impl Starved {
    pub fn holds(self, action: &Action) -> bool {
        match action {
            Action::In { .. } | Action::Small { .. } => self == Starved::CopiesIn,
            Action::Out { .. } => self == Starved::CopiesOut,
            Action::Tensor(_) | Action::Wgmma(_) => self == Starved::Tensor,
            Action::SmallArrive { .. } => false,
        }
    }
}

/// The habits of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(super) seed: u64,
    /// An agent steps once in so many choices; 0: only when no warp can run.
    pub(super) agents: usize,
    pub(super) starved: Starved,
    /// A warp is left at one in so many visible operations.
    pub(super) switch: usize,
    /// Instructions of a warp at a time.
    pub(super) budget: u32,
    pub(super) limit: u64,
    pub(super) order: Habit,
    /// Strong loads see an older value once in so many times; 0: never.
    pub stale: usize,
}

impl Settings {
    pub fn new(options: &Options) -> Settings {
        let mut rng = Rng::new(options.seed ^ 0x5EED);
        let mut pick = |from: &[usize]| from[rng.below(from.len())];
        let (agents, switch) = (pick(&[2, 3, 8, 32, 0]), pick(&[1, 2, 4, 16]));
        let kinds = [Starved::Nobody, Starved::CopiesIn, Starved::CopiesOut, Starved::Tensor];
        let starved = kinds[pick(&[0, 0, 1, 2, 2, 3])];
        Settings {
            seed: options.seed,
            starved: match options.schedule {
                Schedule::Seeded => starved,
                Schedule::Starving => kinds[pick(&[1, 2, 3])],
                _ => Starved::Nobody,
            },
            agents: match options.schedule {
                Schedule::Early => 1,
                Schedule::Late => 0,
                _ => agents,
            },
            switch,
            budget: pick(&[256, 1024, 4096]) as u32,
            stale: pick(&[2, 4, 8, 0]),
            order: match (options.schedule, pick(&[0, 0, 0, 1, 2])) {
                (Schedule::Seeded, 1) | (Schedule::Priorities, _) => {
                    Habit::Priorities { change: pick(&[8, 64, 512]) }
                }
                (Schedule::Seeded, 2) | (Schedule::Starving, _) => {
                    Habit::Last(pick(&[0, 1, 2, 3, 4, 5, 6, 7]) as u32)
                }
                _ => Habit::Uniform,
            },
            limit: options.step_limit.unwrap_or(u64::MAX),
        }
    }
}
