//! The emulator as a device.
//!
//! Every emulator has an arena of its own for global memory and a seed for the order in which its
//! threads and asynchronous operations take their steps; the same seed and the same launch give the
//! same run. What its orders of work were given is done when somebody waits for it, on the thread that
//! waits (see [`queue`]).

mod queue;

use std::alloc::Layout;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton::launch::{Call, EncodedTensorMap};
use baton_emulator::tensor_map::{self, TensorMapDesc};
use baton_emulator::{Launch, Machine, Program};
use baton_ptx::lines::LineTable;

use super::{Code, Driver, GpuFacts, HostAddress, Kernel, Queue, WaitPolicy, Want};
use crate::error::Error;
use crate::grid::{Grid, Limits, Occupancy};
use crate::image::{Arch, Binary, Image};
use crate::options::EmulatorOptions;

use queue::EmulatorQueue;

/// What the emulator is called.
pub(crate) const NAME: &str = "baton emulator";

pub(crate) struct Emulator {
    shared: Arc<Shared>,
    arch: Option<String>,
}

/// What an emulator and its orders of work have in common.
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

    /// Does one piece of what was given; `false` if nothing can be done.
    fn step(&self) -> bool {
        let callback = {
            let mut state = self.state();
            let State { machine, streams } = &mut *state;
            match streams.step(machine) {
                queue::Step::Nothing => return false,
                queue::Step::Done => None,
                queue::Step::Callback(callback) => Some(callback),
            }
        };
        // It may look at buffers, so the emulator is not locked; nobody else does the next piece of its order.
        if let Some((callback, order)) = callback {
            crate::capturing::in_callback(callback);
            self.state().streams.called(order);
        }
        true
    }
}

impl Emulator {
    pub(crate) fn new(options: EmulatorOptions) -> Self {
        let streams = queue::Streams::new(options.machine.seed);
        let state = State { machine: Machine::new(options.machine), streams };
        Self { shared: Arc::new(Shared(Mutex::new(state))), arch: options.arch }
    }
}

/// A module as the emulator runs it.
struct EmulatedCode(Arc<Program>);

impl Code for EmulatedCode {
    fn is_cubin(&self) -> bool {
        false
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn kernel(&self, _name: &'static str) -> Result<Arc<dyn Kernel>, Error> {
        Ok(Arc::new(EmulatedKernel(Arc::clone(&self.0))))
    }
}

/// A kernel is found by its name when it is launched.
struct EmulatedKernel(Arc<Program>);

impl Kernel for EmulatedKernel {
    fn check(&self, _call: &Call<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// The emulator does without registers and limits on what CTAs share: it starts as many as it keeps at once.
    fn occupancy(&self, call: &Call<'_>) -> Result<Occupancy, Error> {
        let ctas = baton_emulator::RESIDENT as u32;
        let clusters = call.shape().cluster;
        let clusters = clusters.map(|extents| ctas / extents.iter().product::<u32>().max(1));
        Ok(Occupancy { ctas_per_multiprocessor: ctas, multiprocessors: 1, clusters })
    }
}

impl Driver for Emulator {
    fn name(&self) -> &str {
        NAME
    }

    fn as_gpu(&self) -> Option<GpuFacts> {
        None
    }

    fn alive(&self, _doing: &str) -> Result<(), Error> {
        Ok(())
    }

    fn limits(&self, arch: &str) -> (Limits, String) {
        (limits(arch), arch.to_owned())
    }

    fn most_co_resident(&self) -> Option<u64> {
        Some(baton_emulator::RESIDENT as u64)
    }

    fn load(&self, image: &Image) -> Result<(&'static Binary, Arc<dyn Code>), Error> {
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
        Ok((binary, Arc::new(EmulatedCode(Arc::new(program)))))
    }

    fn queue(&self, want: Want) -> Result<Box<dyn Queue>, Error> {
        Ok(Box::new(EmulatorQueue::new(Arc::clone(&self.shared), want)))
    }

    fn frees_in_order(&self) -> bool {
        true
    }

    fn free(&self, address: u64) {
        // Only an address that is no allocation fails, and this one is.
        let _ = self.shared.state().machine.free(address);
    }

    fn alloc_host(&self, bytes: usize) -> Result<HostAddress, Error> {
        let layout = host_layout(bytes).ok_or(Error::TooLarge { len: bytes, size: 1 })?;
        // SAFETY: the layout has at least one byte.
        let address = unsafe { std::alloc::alloc(layout) };
        if address.is_null() {
            return Err(Error::TooLarge { len: bytes, size: 1 });
        }
        Ok(HostAddress(address))
    }

    fn free_host(&self, host: HostAddress, bytes: usize) {
        if let Some(layout) = host_layout(bytes) {
            // SAFETY: it was allocated with this layout, and the caller says that nothing uses it.
            unsafe { std::alloc::dealloc(host.0, layout) }
        }
    }

    fn encode(&self, map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
        let bytes = tensor_map::encode(map).map_err(|error| error.to_string())?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
        Ok(EncodedTensorMap(std::array::from_fn(word)))
    }

    fn set_seed(&self, seed: u64) {
        let mut state = self.shared.state();
        state.machine.set_seed(seed);
        state.streams.set_seed(seed);
    }

    fn set_wait_policy(&self, _policy: WaitPolicy) {}
}

fn host_layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), crate::driver::ALIGNMENT as usize).ok()
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

/// As with a GPU's driver, a closed standard output loses the text and nothing else.
fn print(output: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(output.as_bytes()).and_then(|()| stdout.flush());
}

/// The limits of the GPUs that a target is for, by the compute capability tables of the CUDA
/// programming guide.
fn limits(arch: &str) -> Limits {
    const KIB: u32 = 1024;
    let capability = arch.parse::<Arch>().map_or((0, 0), |arch| arch.capability);
    let shared = match capability {
        (9..=11, _) => 227 * KIB,
        (8, 0 | 7) => 163 * KIB,
        (8.., _) => 99 * KIB,
        (7, 5) => 64 * KIB,
        (7, _) => 96 * KIB,
        _ => 48 * KIB,
    };
    // 8 CTAs everywhere; GPUs that have 16 ask for a non-portable launch.
    let cluster = if capability.0 >= 9 { 8 } else { 1 };
    Limits {
        threads: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX as u32, 65535, 65535],
        shared,
        cluster,
    }
}
