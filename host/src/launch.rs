//! What only a running program can check of a launch, and what a launch leaves behind.
//!
//! The checks are here rather than left to the driver because its answer to all of them is
//! "invalid argument", and so that the emulator refuses what a GPU would refuse.

use std::time::Duration;

use baton::launch::Call;
use baton_emulator::Hazard;
use baton_emulator::trace::Trace;

use crate::device::{Backend, Device};
use crate::error::BadLaunch;
use crate::image::{Declared, KernelInfo};
use crate::module::Module;

/// How many CTAs to launch: x, y, z.
///
/// Made from a number, a pair or three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid(pub [u32; 3]);

impl From<u32> for Grid {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<[u32; 2]> for Grid {
    fn from([x, y]: [u32; 2]) -> Self {
        Self([x, y, 1])
    }
}

impl From<[u32; 3]> for Grid {
    fn from(extents: [u32; 3]) -> Self {
        Self(extents)
    }
}

impl From<(u32, u32)> for Grid {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Grid {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

/// What a finished launch says of itself.
#[derive(Debug)]
#[non_exhaustive]
pub struct LaunchReport {
    /// From start to end: on a GPU by its own clock, on the emulator by the host's.
    pub elapsed: Duration,
    /// Instructions that all threads executed, on the emulator.
    pub instructions: Option<u64>,
    /// What the kernel printed, on the emulator. (A GPU's driver writes it to standard output
    /// itself; the emulator's has been written there too.)
    pub output: String,
    /// What the emulator found suspicious without ending the launch.
    pub hazards: Vec<Hazard>,
    /// What ran when, on an emulator that records it.
    pub trace: Option<Box<Trace>>,
}

/// How much of a kernel a device runs at the same time.
///
/// It decides how large a grid may be whose CTAs wait for each other (rule F5), and how many CTAs a persistent kernel
/// is worth launching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs that one multiprocessor holds, by registers, shared memory and threads.
    pub ctas_per_multiprocessor: u32,
    /// Multiprocessors of the device. The emulator counts as one, which holds all that it runs at once.
    pub multiprocessors: u32,
    /// Clusters that the device holds at once; `None` for a kernel without.
    pub clusters: Option<u32>,
}

impl Occupancy {
    /// CTAs that the device holds at once.
    pub fn resident_ctas(&self) -> u64 {
        u64::from(self.ctas_per_multiprocessor) * u64::from(self.multiprocessors)
    }
}

/// What a device can launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub threads: u32,
    pub block: [u32; 3],
    pub grid: [u32; 3],
    /// Shared memory of a CTA, static and dynamic, with the opt-in.
    pub shared: u32,
    /// CTAs of a cluster; 1 where there are no clusters.
    pub cluster: u32,
}

/// Refuses what the device would refuse, and memory that is not the device's.
pub(crate) fn check(
    device: &Device,
    module: &Module,
    Grid(grid): Grid,
    call: &Call<'_>,
) -> Result<(), BadLaunch> {
    let kernel = compiled(device, module, call)?;
    if let Some(&(parameter, _)) = call.devices().iter().find(|(_, id)| *id != device.id()) {
        return Err(BadLaunch::ForeignMemory { parameter });
    }

    let limits = match device.backend() {
        Backend::Gpu(gpu) => gpu.limits(),
        Backend::Emulator(_) => emulated_limits(module.arch()),
    };
    let name = || match device.backend() {
        Backend::Gpu(gpu) => gpu.name().to_owned(),
        Backend::Emulator(_) => module.arch().to_owned(),
    };
    let shape = call.shape();

    let within =
        |extents: [u32; 3], limits: [u32; 3]| extents.iter().zip(limits).all(|(e, l)| *e <= l);
    let product = |extents: [u32; 3]| extents.iter().fold(1u64, |n, &e| n.saturating_mul(e.into()));
    if grid.contains(&0) {
        return Err(BadLaunch::EmptyGrid { grid });
    }
    if !within(grid, limits.grid) {
        return Err(BadLaunch::GridTooLarge { grid, limit: limits.grid });
    }
    if product(grid) > MOST_CTAS {
        return Err(BadLaunch::TooManyCtas { grid, limit: MOST_CTAS });
    }

    // A GPU's driver knows how many CTAs of this kernel fit, and refuses what does not.
    if call.co_resident() && matches!(device.backend(), Backend::Emulator(_)) {
        let (ctas, limit) = (product(grid), baton_emulator::RESIDENT as u64);
        if ctas > limit {
            return Err(BadLaunch::NotCoResident { ctas, limit, device: name() });
        }
    }

    let threads = shape.threads;
    if !(1..=u64::from(limits.threads)).contains(&product(threads))
        || !within(threads, limits.block)
    {
        return Err(BadLaunch::BadBlock { threads, limit: limits.threads, device: name() });
    }

    if let Some(cluster) = shape.cluster {
        if cluster.iter().zip(grid).any(|(&c, g)| g.checked_rem(c) != Some(0)) {
            return Err(BadLaunch::PartialCluster { grid, cluster });
        }
        let ctas = product(cluster);
        if ctas > u64::from(limits.cluster) {
            return Err(BadLaunch::ClusterTooLarge { ctas, limit: limits.cluster, device: name() });
        }
    }

    let (dynamic, fixed) = (shape.dynamic_shared, kernel.static_shared);
    if u64::from(dynamic) + u64::from(fixed) > u64::from(limits.shared) {
        return Err(BadLaunch::SharedMemory {
            dynamic,
            fixed,
            limit: limits.shared,
            device: name(),
        });
    }
    Ok(())
}

/// Kernels number the threads of the grid, and step over them, in 64 bits: `Partition` relies on it that no step wraps.
const MOST_CTAS: u64 = 1 << 50;

/// The kernel that a call is for, compared with what the call was made for.
pub(crate) fn compiled(
    device: &Device,
    module: &Module,
    call: &Call<'_>,
) -> Result<&'static KernelInfo, BadLaunch> {
    if module.device() != device {
        return Err(BadLaunch::ForeignModule { module: module.name() });
    }
    let Some(kernel) = module.kernel(call.kernel()) else {
        let known = match module.binary.kernels {
            [] => "no kernels".into(),
            kernels => {
                let names: Vec<_> = kernels.iter().map(|kernel| kernel.name).collect();
                format!("only the kernels {}", names.join(", "))
            }
        };
        return Err(BadLaunch::UnknownKernel { module: module.name(), known });
    };
    if let Some(declared) = &kernel.declared {
        compare(declared, call)?;
    }
    Ok(kernel)
}

/// Refuses a call that the host's half of the kernel crate made for another kernel than the device's half became.
fn compare(declared: &Declared, call: &Call<'_>) -> Result<(), BadLaunch> {
    let shape = call.shape();
    let wrong = |what, compiled, called| Err(BadLaunch::WrongShape { what, compiled, called });
    if declared.threads != shape.threads {
        let [compiled, called] =
            [declared.threads, shape.threads].map(|threads| format!("{threads:?}"));
        return wrong("threads", compiled, called);
    }
    let cluster = shape.cluster.unwrap_or([0; 3]);
    if declared.cluster != cluster {
        let [compiled, called] = [declared.cluster, cluster].map(|cluster| match cluster {
            [0, 0, 0] => "no cluster".to_owned(),
            ctas => format!("{ctas:?}"),
        });
        return wrong("CTAs of a cluster", compiled, called);
    }
    if declared.dynamic_shared != shape.dynamic_shared {
        let [compiled, called] =
            [declared.dynamic_shared, shape.dynamic_shared].map(|bytes| bytes.to_string());
        return wrong("bytes of dynamic shared memory", compiled, called);
    }
    let passed = call.params().iter().map(|bytes| bytes.len() as u64);
    if !passed.clone().eq(declared.parameters.iter().copied()) {
        let called: Vec<_> = passed.collect();
        return wrong(
            "bytes of parameters",
            format!("{:?}", declared.parameters),
            format!("{called:?}"),
        );
    }
    Ok(())
}

/// The limits of the GPUs that a target is for, by the compute capability tables of the CUDA
/// programming guide.
fn emulated_limits(arch: &str) -> Limits {
    const KIB: u32 = 1024;
    let capability = arch.parse::<crate::Arch>().map_or((0, 0), |arch| arch.capability);
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
