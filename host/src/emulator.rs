//! The emulator as a device.
//!
//! Every emulator has an arena of its own for global memory and a seed for the order in which its
//! threads and asynchronous operations take their steps; the same seed and the same launch give the
//! same run. A launch runs on the thread that asks for it; what streams were given is done when
//! somebody waits for it (see [`queue`]).

mod queue;

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use baton::launch::{Call, EncodedTensorMap, Shape};
use baton_emulator::tensor_map::{self, TensorMapDesc};
use baton_emulator::{Launch, Machine, Options, Program};
use baton_ptx::lines::LineTable;

use crate::device::{ALIGNMENT, Memory};
use crate::error::Error;
use crate::image::{Binary, Image};
use crate::launch::{Grid, LaunchReport, Occupancy};

/// How an emulator runs, and what.
#[derive(Clone, Debug, Default)]
pub struct EmulatorOptions {
    /// Seed, schedule, step limit and memory limit.
    pub machine: Options,
    /// The target of the images to load (`"sm_100a"`); by default the first that an image has.
    pub arch: Option<String>,
}

impl EmulatorOptions {
    /// The same, with this seed.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.machine.seed = seed;
        self
    }

    /// The same, without the search for hazards.
    pub fn with_unchecked(mut self, unchecked: bool) -> Self {
        self.machine.unchecked = unchecked;
        self
    }

    /// The same; disputed hazards are errors rather than warnings.
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.machine.strict = strict;
        self
    }

    /// The same; launches record what ran when.
    pub fn with_trace(mut self, trace: bool) -> Self {
        self.machine.trace = trace;
        self
    }

    /// The same, for images' code for this target.
    pub fn with_arch(mut self, arch: impl Into<String>) -> Self {
        self.arch = Some(arch.into());
        self
    }
}

pub(crate) use queue::{Completion, EmulatorQueue, Recording};

pub(crate) struct Emulator {
    shared: Arc<Shared>,
    arch: Option<String>,
}

/// What an emulator and its streams have in common.
struct Shared(Mutex<State>);

struct State {
    machine: Machine,
    streams: queue::Streams,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in another thread leaves bytes and allocations that are still well formed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Does one piece of what streams were given; `false` if nothing can be done.
    fn step(&mut self) -> bool {
        self.streams.step(&mut self.machine)
    }
}

/// A module as the emulator runs it.
pub(crate) struct LoadedModule(Arc<Program>);

impl LoadedModule {
    fn program(&self) -> Arc<Program> {
        Arc::clone(&self.0)
    }
}

impl Emulator {
    pub(crate) const NAME: &'static str = "baton emulator";

    pub(crate) fn new(options: EmulatorOptions) -> Self {
        let streams = queue::Streams::new(options.machine.seed);
        let state = State { machine: Machine::new(options.machine), streams };
        Self { shared: Arc::new(Shared(Mutex::new(state))), arch: options.arch }
    }

    pub(crate) fn set_seed(&self, seed: u64) {
        let mut state = self.shared.state();
        state.machine.set_seed(seed);
        state.streams.set_seed(seed);
    }

    pub(crate) fn stream(&self) -> EmulatorQueue {
        EmulatorQueue::new(Arc::clone(&self.shared))
    }

    /// Does everything that streams were given.
    pub(crate) fn finish(&self) {
        while self.shared.state().step() {}
    }

    pub(crate) fn load(&self, image: &Image) -> Result<(&'static Binary, LoadedModule), Error> {
        let binary = match &self.arch {
            Some(arch) => image.binary(arch),
            None => image.binaries.first(),
        };
        let binary = binary.ok_or_else(|| Error::NoSuchTarget {
            image: image.name,
            arch: self.arch.clone().unwrap_or_else(|| "any target".into()),
            built: image.archs(),
        })?;
        let lines = match binary.lines {
            "" => None,
            lines => Some(LineTable::parse(lines).map_err(|error| Error::DamagedLines {
                image: image.name,
                arch: binary.arch,
                reason: error.to_string(),
            })?),
        };
        let name = format!("{}.{}.ptx", image.name, binary.arch);
        let program = Program::load(binary.ptx, &name, lines).map_err(Box::new)?;
        Ok((binary, LoadedModule(Arc::new(program))))
    }

    pub(crate) fn launch(
        &self,
        LoadedModule(program): &LoadedModule,
        grid: Grid,
        call: &Call<'_>,
    ) -> Result<LaunchReport, Error> {
        let launch = description(grid, call);
        let start = Instant::now();
        let (report, trace) = {
            let mut state = self.shared.state();
            let report = state.machine.launch(program, &launch).map_err(Box::new)?;
            (report, state.machine.after().trace.clone())
        };
        let elapsed = start.elapsed();
        // As with a GPU's driver, a closed standard output loses the text and nothing else.
        let mut stdout = std::io::stdout();
        let _ = stdout.write_all(report.output.as_bytes()).and_then(|()| stdout.flush());
        Ok(LaunchReport {
            elapsed,
            instructions: Some(report.instructions),
            output: report.output,
            hazards: report.hazards,
            trace: trace.map(Box::new),
        })
    }

    /// The emulator does without registers and limits on what CTAs share: it starts as many as it keeps at once.
    pub(crate) fn occupancy(shape: Shape) -> Occupancy {
        let ctas = baton_emulator::RESIDENT as u32;
        let clusters = shape.cluster.map(|extents| ctas / extents.iter().product::<u32>().max(1));
        Occupancy { ctas_per_multiprocessor: ctas, multiprocessors: 1, clusters }
    }

    pub(crate) fn encode(map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
        let bytes = tensor_map::encode(map).map_err(|error| error.to_string())?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
        Ok(EncodedTensorMap(std::array::from_fn(word)))
    }
}

impl Memory for Emulator {
    fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        // An address of its own for every buffer, the empty ones included.
        Ok(self.shared.state().machine.alloc(bytes.max(1), ALIGNMENT).map_err(Box::new)?)
    }

    fn free(&self, address: u64) {
        // Only an address that is no allocation fails, and this one is.
        let _ = self.shared.state().machine.free(address);
    }

    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Error> {
        Ok(self.shared.state().machine.read(address, out).map_err(Box::new)?)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.shared.state().machine.write(address, bytes).map_err(Box::new)?)
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), Error> {
        Ok(fill(&mut self.shared.state().machine, address, bytes, byte).map_err(Box::new)?)
    }
}

/// A call as the emulator wants it.
fn description(Grid(grid): Grid, call: &Call<'_>) -> Launch {
    let shape = call.shape();
    Launch {
        kernel: call.kernel().into(),
        grid,
        block: shape.threads,
        // Zeros are for kernels that are launched without clusters.
        cluster: shape.cluster.unwrap_or([0; 3]),
        dynamic_shared: shape.dynamic_shared,
        params: call.params().to_vec(),
        dependent: call.is_dependent(),
    }
}

fn fill(
    machine: &mut Machine,
    address: u64,
    bytes: u64,
    byte: u8,
) -> Result<(), baton_emulator::Error> {
    const CHUNK: u64 = 64 * 1024;
    let chunk = vec![byte; bytes.min(CHUNK) as usize];
    let mut done = 0;
    while done < bytes {
        let part = &chunk[..(bytes - done).min(CHUNK) as usize];
        machine.write(address + done, part)?;
        done += part.len() as u64;
    }
    Ok(())
}
