//! The tests, what the memory model says of them, and a count of what the device does.
//!
//! A test's outcome and verdict are read from its litmus file, which is part of the program; that the verdict is the
//! model's is what `tests/verdicts.rs` checks. A *correct* test's outcome is forbidden. A *weakened* one has lost what
//! orders it, and its outcome is allowed: a device may show it or not, and both is right.

mod corpus;

use std::collections::{BTreeMap, BTreeSet};

use baton::launch::{Call, DeviceSliceMut};
use baton_host::baton_emulator::Severity;
use baton_host::{Buffer, Device, Error, Image, Module};
use example_common::Numbers;
use litmus_stress_kernel::{LOCATIONS, PAIRS, SCRATCH, SLOTS, STRIDE, THREADS};

pub use corpus::{Allows, Litmus};

/// The kernels, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("litmus_stress_kernel");

/// What a kernel of this crate takes.
type Kernel = for<'a> fn(
    DeviceSliceMut<'a, u32>,
    DeviceSliceMut<'a, u32>,
    DeviceSliceMut<'a, u32>,
    u32,
    u32,
    u32,
) -> Call<'a>;

/// A litmus test with its kernel.
pub struct Stress {
    /// What it is called here.
    pub name: &'static str,
    /// The text of its litmus file.
    pub litmus: &'static str,
    kernel: Kernel,
    /// CTAs for each block of instances.
    ctas: u32,
    /// Instances of a block.
    instances: u32,
}

impl Stress {
    /// CTAs that the threads of one instance are in.
    pub fn ctas(&self) -> u32 {
        self.ctas
    }
}

/// The text of a litmus file, by its path below `tests/litmus`.
macro_rules! litmus {
    ($file:literal) => {
        include_str!(concat!("../../../tests/litmus/", $file, ".litmus"))
    };
}

macro_rules! tests {
    ($($kernel:ident $file:literal $ctas:literal $instances:expr;)*) => {
        /// All tests: each correct one before those that weaken it.
        pub static ALL: &[Stress] = &[$(Stress {
            name: stringify!($kernel),
            litmus: litmus!($file),
            kernel: |memory, results, scratch, blocks, shuffle, stress| {
                litmus_stress_kernel::$kernel(memory, results, scratch, blocks, shuffle, stress)
            },
            ctas: $ctas,
            instances: $instances,
        }),*];
    };
}

tests! {
    mp "stress/mp" 2 THREADS;
    mp_relaxed "stress/mp_relaxed" 2 THREADS;
    mp_cta "stress/mp_cta" 2 THREADS;
    sb "stress/sb" 2 THREADS;
    sb_acq_rel "stress/sb_acq_rel" 2 THREADS;
    lb "stress/lb" 2 THREADS;
    lb_relaxed "stress/lb_relaxed" 2 THREADS;
    iriw "stress/iriw" 4 THREADS;
    iriw_acquire "stress/iriw_acquire" 4 THREADS;
    mbarrier_acquire "stress/mbarrier" 1 PAIRS;
    mbarrier_relaxed "stress/mbarrier_relaxed" 1 PAIRS;
    proxy_fence "proxies/B1_same_thread_async" 1 THREADS;
    proxy_none "proxies/B1_same_thread_none" 1 THREADS;
    proxy_read "async/B7_destination_read" 1 THREADS;
}

/// How much of each test to do.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Launches of each test.
    pub launches: u32,
    /// Blocks of instances in a launch; a power of two.
    pub blocks: u32,
    /// CTAs that disturb.
    pub disturbing: u32,
    /// How often each of their threads stores and loads.
    pub stress: u32,
}

/// What was seen of one test.
#[derive(Debug, Default)]
pub struct Count {
    /// Instances that ran.
    pub runs: u64,
    /// How many of them had the outcome of the litmus file.
    pub seen: u64,
    /// How often each list of results came.
    pub outcomes: BTreeMap<Vec<u32>, u64>,
    /// Rules that the emulator found broken, errors only.
    pub rules: BTreeSet<&'static str>,
}

impl Count {
    /// Whether it is something that the model rules out: the outcome of a correct test, or an error in one.
    pub fn contradicts(&self, verdict: Allows) -> bool {
        verdict == Allows::Never && (self.seen > 0 || !self.rules.is_empty())
    }
}

/// Runs one test.
pub fn run(
    device: &Device,
    module: &Module,
    test: &Stress,
    size: Size,
    seed: u64,
) -> Result<Count, Box<dyn std::error::Error>> {
    let litmus = Litmus::read(test.litmus)?;
    Ok(launches(device, module, test, &litmus.outcome, size, seed)?)
}

fn launches(
    device: &Device,
    module: &Module,
    test: &Stress,
    outcome: &[u32],
    size: Size,
    seed: u64,
) -> Result<Count, Error> {
    let threads = size.blocks as usize * THREADS as usize;
    let mut memory = Buffer::<u32>::zeroed(device, threads * (LOCATIONS * STRIDE) as usize)?;
    let mut results = Buffer::<u32>::zeroed(device, threads * SLOTS as usize)?;
    let mut scratch = Buffer::<u32>::zeroed(device, SCRATCH as usize)?;
    let mut found = vec![0; results.len()];
    let instances = (size.blocks * test.instances) as usize;
    let ctas = size.blocks * test.ctas + size.disturbing;

    let mut count = Count::default();
    let mut numbers = Numbers::new(seed);
    for _ in 0..size.launches {
        let shuffle = numbers.bits() as u32;
        device.set_seed(numbers.bits());
        memory.fill(0)?;
        let call = (test.kernel)(
            memory.as_arg_mut(),
            results.as_arg_mut(),
            scratch.as_arg_mut(),
            size.blocks,
            shuffle,
            size.stress,
        );
        let launch = device.launch(module, ctas, call)?;
        let errors = launch.hazards.iter().filter(|hazard| hazard.severity == Severity::Error);
        count.rules.extend(errors.map(|hazard| hazard.rule));

        results.read(&mut found)?;
        for slots in found.chunks(SLOTS as usize).take(instances) {
            let slots = &slots[..outcome.len().min(slots.len())];
            count.runs += 1;
            count.seen += u64::from(slots == outcome);
            match count.outcomes.get_mut(slots) {
                Some(times) => *times += 1,
                None => {
                    count.outcomes.insert(slots.to_vec(), 1);
                }
            }
        }
    }
    Ok(count)
}
