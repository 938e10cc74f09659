//! The runs, and how much earlier or later than the producer's clock the waiter's clocks are.
//!
//! The experiment is that of "Synchronisation in the Blackwell tensor core" (ywgrit.work, 2026), which found the clock
//! that does not use the answer some 2.5 µs *before* the producer's on a B200: `try_wait` is no fence for what stands
//! behind it. That is why the rules (C6, D1) take a wait for nothing more than what its qualifiers say, and why a
//! `tcgen05.ld` behind a relaxed wait needs `tcgen05.fence::after_thread_sync`.
//!
//! On the emulator a warp that hangs in a wait may read the clocks that stand behind it, as the seed has it: the early
//! clock is a legal schedule there, and about every third run shows it. How often a GPU does is for a GPU to say.

pub mod plot;

use baton_host::baton_emulator::Hazard;
use baton_host::{Buffer, Device, Error, Image, Module};
use try_wait_order_kernel::{WORDS, word};

/// The kernel, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("try_wait_order_kernel");

/// Differences to the producer's clock, read before it arrived. What is negative was read earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// By the device's timer.
    pub nanoseconds: i64,
    /// By the multiprocessor's clock, which waiter and producer share.
    pub cycles: i64,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Of the clock in the waiter's last turn, which does not use the answer.
    pub free: Difference,
    /// Of the clock behind the waiter's loop, which the answer has let go.
    pub after: Difference,
    /// Turns of the waiter's loop.
    pub turns: u64,
    /// Whether the phase was open when the waiter came.
    pub was_open: bool,
}

impl Run {
    /// What the words of a run say.
    fn new(words: &[u64; WORDS as usize]) -> Self {
        let difference = |nanoseconds: usize, cycles: usize| Difference {
            nanoseconds: words[nanoseconds].wrapping_sub(words[word::ARRIVES_NANOSECONDS]) as i64,
            cycles: words[cycles].wrapping_sub(words[word::ARRIVES_CYCLES]) as i64,
        };
        Self {
            free: difference(word::FREE_NANOSECONDS, word::FREE_CYCLES),
            after: difference(word::AFTER_NANOSECONDS, word::AFTER_CYCLES),
            turns: words[word::TURNS],
            was_open: words[word::WAS_OPEN] == 1,
        }
    }

    /// Whether the run says anything: the waiter came first and left its loop behind the arrival.
    pub fn is_valid(&self) -> bool {
        self.was_open && self.turns > 0 && self.after.cycles >= 0
    }
}

/// Runs the kernel `count` times, each with an arrival about `delay` cycles later than the wait, and on the emulator
/// with a seed of its own, from `seed` on. Also what the emulator found.
pub fn runs(
    device: &Device,
    module: &Module,
    count: u32,
    delay: u32,
    seed: u64,
) -> Result<(Vec<Run>, Vec<Hazard>), Error> {
    let mut words = Buffer::<u64>::poisoned(device, WORDS as usize)?;
    let mut found = [0; WORDS as usize];
    let (mut runs, mut hazards) = (Vec::new(), Vec::new());
    for run in 0..count {
        device.set_seed(seed.wrapping_add(run.into()));
        let call = try_wait_order_kernel::order(words.as_arg_mut(), delay);
        hazards.extend(device.launch(module, 1, call)?.hazards);
        words.read(&mut found)?;
        runs.push(Run::new(&found));
    }
    Ok((runs, hazards))
}

/// Least, middle and greatest of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The least.
    pub min: i64,
    /// As many are less as are greater.
    pub median: i64,
    /// The greatest.
    pub max: i64,
    /// How many are negative.
    pub negative: usize,
}

impl Spread {
    /// `None` for no values.
    pub fn of(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        Some(Self {
            min: *values.first()?,
            median: *values.get(values.len() / 2)?,
            max: *values.last()?,
            negative: values.partition_point(|value| *value < 0),
        })
    }
}
