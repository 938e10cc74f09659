//! What only a running program can check of a launch.
//!
//! The checks are here rather than left to the driver because its answer to all of them is
//! "invalid argument", and so that the emulator refuses what a GPU would refuse.

use std::sync::Arc;

use baton::launch::{Argument, Call};

use crate::device::Device;
use crate::driver::Kernel;
use crate::error::{BadLaunch, Error};
use crate::grid::Grid;
use crate::image::{Declared, KernelInfo};
use crate::module::Module;

/// The kernel of a call, ready for a launch on this grid.
pub(crate) fn ready(
    device: &Device,
    module: &Module,
    grid: Grid,
    call: &Call<'_>,
) -> Result<Arc<dyn Kernel>, Error> {
    check(device, module, grid, call)
        .map_err(|problem| Error::BadLaunch { kernel: call.kernel(), problem })?;
    prepared(module, call)
}

/// The kernel of a call, compared with what was compiled.
pub(crate) fn prepared(module: &Module, call: &Call<'_>) -> Result<Arc<dyn Kernel>, Error> {
    let kernel = module.code.kernel(call.kernel())?;
    kernel.check(call)?;
    Ok(kernel)
}

/// Refuses what the device would refuse, and memory that is not the device's.
fn check(
    device: &Device,
    module: &Module,
    Grid(grid): Grid,
    call: &Call<'_>,
) -> Result<(), BadLaunch> {
    let kernel = compiled(device, module, call)?;
    if let Some(&(parameter, _)) = call.devices().iter().find(|(_, id)| *id != device.id()) {
        return Err(BadLaunch::ForeignMemory { parameter });
    }

    let (limits, name) = device.driver().limits(module.arch());
    let name = || name.clone();
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
    if let (true, Some(limit)) = (call.co_resident(), device.driver().most_co_resident()) {
        let ctas = product(grid);
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
    for (parameter, Argument { name, of_type, signature }) in call.arguments().iter().enumerate() {
        if declared.signatures.get(parameter) != Some(signature) {
            return Err(BadLaunch::OtherParameter { parameter, name, passed: of_type });
        }
    }
    Ok(())
}
