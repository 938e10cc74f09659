//! The one source of chance: SplitMix64, so that a seed replays a run; or the decisions of an
//! earlier run.

/// One choice that a run made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was chosen. Zero is the plain choice: on with the same warp, the newest value.
    pub value: u32,
    /// Out of how many.
    pub of: u32,
}

/// Where choices come from.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: u64,
    /// Decisions to repeat, and how many have been; behind the last, all are zero.
    replay: Option<(Vec<u32>, usize)>,
    record: Option<Vec<Decision>>,
}

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed, replay: None, record: None }
    }

    /// Repeats decisions instead.
    pub fn replaying(self, decisions: Option<Vec<u32>>) -> Rng {
        Rng { replay: decisions.map(|decisions| (decisions, 0)), ..self }
    }

    /// Keeps what is decided.
    pub fn recording(self, record: bool) -> Rng {
        Rng { record: record.then(Vec::new), ..self }
    }

    /// What was decided.
    pub fn recorded(&mut self) -> Vec<Decision> {
        self.record.take().unwrap_or_default()
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 1 {
            return 0;
        }
        let value = match &mut self.replay {
            None => ((u128::from(self.next()) * bound as u128) >> 64) as usize,
            Some((decisions, at)) => {
                let value = decisions.get(*at).map_or(0, |&value| value as usize);
                *at += 1;
                value.min(bound - 1)
            }
        };
        if let Some(record) = &mut self.record {
            record.push(Decision { value: value as u32, of: bound as u32 });
        }
        value
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
}
