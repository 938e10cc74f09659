//! Code on a GPU, and its kernels with all that a launch has to know of them.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use baton::launch::Call;
use cudarc::driver::sys::{
    CUfunction, CUfunction_attribute, CUjit_option, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue, CUlaunchAttributeValue_union__bindgen_ty_1, CUlaunchConfig, CUmodule,
    CUstream,
};

use super::context::Gpu;
use super::result::Meaning;
use crate::capturing::elsewhere;
use crate::driver::{Code, Kernel};
use crate::error::{BadLaunch, Error};
use crate::grid::{Grid, Occupancy};
use crate::image::{self, Binary, Candidate, Image};

/// Loads the first piece of code that the driver takes. A driver may be too old for machine code
/// that fits the GPU, or for the version of some PTX, so a refusal is no reason to stop.
pub(super) fn load(
    gpu: &Arc<Gpu>,
    image: &Image,
) -> Result<(&'static Binary, Arc<dyn Code>), Error> {
    let candidates = image::candidates(image, gpu.facts.compute_capability);
    if candidates.is_empty() {
        return Err(gpu.facts.no_fitting_code(image));
    }
    let _entered = gpu.enter("loading kernels")?;
    let mut attempts = String::new();
    for candidate in candidates {
        let (binary, from_cubin, code) = match candidate {
            Candidate::Cubin(binary, cubin) => (binary, true, cubin),
            Candidate::Ptx(binary) => (binary, false, binary.ptx.as_bytes()),
        };
        match load_code(gpu, code) {
            Ok(raw) => {
                let module = Module { raw, gpu: Arc::clone(gpu), from_cubin };
                return Ok((binary, Arc::new(GpuCode(Arc::new(module)))));
            }
            Err(reason) => {
                let form = if from_cubin { "machine code" } else { "PTX" };
                attempts.push_str(&format!("\n  {form} for {}: {reason}", binary.arch));
            }
        }
    }
    gpu.alive("loading kernels")?;
    Err(Error::NotLoaded { image: image.name, gpu: gpu.facts.name.clone(), attempts })
}

/// Loads machine code or PTX, or gives the driver's own words.
fn load_code(gpu: &Gpu, code: &[u8]) -> Result<CUmodule, String> {
    // `include_bytes!` aligns nothing, and an ELF image wants its tables aligned; PTX has to end
    // in a zero byte. A copy into words with zeros behind it serves both.
    let image: Vec<u64> = code
        .chunks(8)
        .chain([&[0u8; 8][..]])
        .map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(word)
        })
        .collect();
    let mut log = [0u8; 4096];
    let mut module = ptr::null_mut();
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER as c_uint,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_uint,
    ];
    // The driver takes integers by value, cast to pointers.
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut::<c_void>(log.len())];
    // SAFETY: the image is a whole cubin or zero-terminated PTX, the options and their values are two
    // each, and the log outlives the call and has the length given.
    let loaded = gpu.relaxed(|| unsafe {
        gpu.api.cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    });
    loaded.map(|()| module).map_err(|code| {
        let reason = gpu.failed("loading kernels")(code);
        let said = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy);
        match said {
            Ok(said) if !said.trim().is_empty() => {
                format!("{}: {}", gpu.api.text(code), said.trim())
            }
            _ => match reason {
                Error::DeviceLost { reason, .. } => reason,
                _ => gpu.api.text(code),
            },
        }
    })
}

/// A module in a GPU's context.
struct Module {
    raw: CUmodule,
    gpu: Arc<Gpu>,
    from_cubin: bool,
}

// SAFETY: a module's handle may be used from any thread in which its context is current, and every
// use here makes it current first.
unsafe impl Send for Module {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        let module = (Arc::clone(&self.gpu), self.raw.expose_provenance());
        elsewhere(move || {
            let (gpu, raw) = module;
            let Ok(_entered) = gpu.enter("unloading kernels") else { return };
            // SAFETY: the handle was the dropped value's alone, and no kernel of it runs: its module's
            // reservation has no fence that is pending.
            let _ = gpu.relaxed(|| unsafe {
                gpu.api.cuModuleUnload(ptr::with_exposed_provenance_mut(raw))
            });
        });
    }
}

struct GpuCode(Arc<Module>);

impl Code for GpuCode {
    fn is_cubin(&self) -> bool {
        self.0.from_cubin
    }

    fn is_emulated(&self) -> bool {
        false
    }

    fn kernel(&self, name: &'static str) -> Result<Arc<dyn Kernel>, Error> {
        let gpu = &self.0.gpu;
        let doing = || format!("finding kernel `{name}` on {}", gpu.facts.name);
        let _entered = gpu.enter(&doing())?;
        let symbol = CString::new(name).map_err(|_| Error::Driver {
            doing: doing(),
            reason: "its name has a zero byte".into(),
        })?;
        let mut raw = ptr::null_mut();
        // A driver that loads late may load it now, and a capture forbids to load.
        // SAFETY: the module is loaded as long as the kernel keeps it; the name ends in a zero.
        gpu.relaxed(|| unsafe {
            gpu.api.cuModuleGetFunction(&mut raw, self.0.raw, symbol.as_ptr())
        })
        .map_err(gpu.failed(doing()))?;
        let mut kernel = GpuKernel {
            raw,
            name,
            parameters: Vec::new(),
            cluster: [0; 3],
            threads: 0,
            dynamic_shared: AtomicU32::new(0),
            module: Arc::clone(&self.0),
        };
        kernel.look_up()?;
        Ok(Arc::new(kernel))
    }
}

/// A kernel of a loaded module, with what the driver knows of it.
pub(super) struct GpuKernel {
    raw: CUfunction,
    name: &'static str,
    /// Bytes of each.
    parameters: Vec<usize>,
    /// The cluster shape that was compiled in; zeros if none was.
    cluster: [u32; 3],
    /// A kernel's registers may allow fewer threads than the GPU does.
    threads: u32,
    /// Bytes of dynamic shared memory that the kernel may have as yet.
    dynamic_shared: AtomicU32,
    module: Arc<Module>,
}

// SAFETY: as for modules.
unsafe impl Send for GpuKernel {}
// SAFETY: as for modules.
unsafe impl Sync for GpuKernel {}

impl GpuKernel {
    fn gpu(&self) -> &Arc<Gpu> {
        &self.module.gpu
    }

    fn look_up(&mut self) -> Result<(), Error> {
        use CUfunction_attribute as Is;
        self.cluster = [
            self.attribute(Is::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)?,
            self.attribute(Is::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)?,
            self.attribute(Is::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)?,
        ];
        self.threads = self.attribute(Is::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        let shared = self.attribute(Is::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?;
        *self.dynamic_shared.get_mut() = shared;
        loop {
            let (mut offset, mut size) = (0, 0);
            let index = self.parameters.len();
            // SAFETY: the function is loaded, and the results are written to locals.
            let found = unsafe {
                self.gpu().api.cuFuncGetParamInfo(self.raw, index, &mut offset, &mut size)
            };
            match found {
                Ok(()) => self.parameters.push(size),
                // What the driver's reference says of an index past the last parameter; any other error is one.
                Err(code) if code.meaning() == Meaning::InvalidValue => return Ok(()),
                Err(code) => {
                    let doing = format!("asking for the parameters of kernel `{}`", self.name);
                    return Err(self.gpu().failed(doing)(code));
                }
            }
        }
    }

    fn attribute(&self, which: CUfunction_attribute) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: the function is loaded, and the result is written to a local.
        unsafe { self.gpu().api.cuFuncGetAttribute(&mut value, which as c_uint, self.raw) }
            .map_err(self.gpu().failed("asking for a kernel's attributes"))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn bad(&self, problem: BadLaunch) -> Error {
        Error::BadLaunch { kernel: self.name, problem }
    }

    /// Dynamic shared memory beyond what every GPU has needs the function's consent.
    fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), Error> {
        if bytes <= self.dynamic_shared.load(Ordering::Relaxed) {
            return Ok(());
        }
        let doing = format!("allowing {bytes} bytes of dynamic shared memory");
        let _entered = self.gpu().enter(&doing)?;
        let which = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_uint;
        // SAFETY: the function is loaded. The device's limit has been checked, so it fits a `c_int`.
        unsafe { self.gpu().api.cuFuncSetAttribute(self.raw, which, bytes as c_int) }
            .map_err(self.gpu().failed(doing))?;
        self.dynamic_shared.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// The launch as the driver wants it.
    fn with_config<T>(
        &self,
        Grid(grid): Grid,
        call: &Call<'_>,
        stream: CUstream,
        use_it: impl FnOnce(&CUlaunchConfig) -> T,
    ) -> T {
        let shape = call.shape();
        let attribute = |id, value| CUlaunchAttribute { id, pad: [0; 4], value };
        use CUlaunchAttributeID as Is;
        let mut attributes =
            [attribute(Is::CU_LAUNCH_ATTRIBUTE_IGNORE, CUlaunchAttributeValue { cooperative: 0 });
                3];
        let mut count = 0;
        let mut add = |id, value| {
            attributes[count] = attribute(id, value);
            count += 1;
        };
        // A shape that was compiled in has been compared, and is not set again.
        if let (Some([x, y, z]), [0, 0, 0]) = (shape.cluster, self.cluster) {
            let value = CUlaunchAttributeValue {
                clusterDim: CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z },
            };
            add(Is::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value);
        }
        if call.co_resident() {
            // The driver then refuses a grid that does not fit the device at once.
            let value = CUlaunchAttributeValue { cooperative: 1 };
            add(Is::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value);
        }
        if call.is_dependent() && self.gpu().facts.compute_capability >= (9, 0) {
            // The kernel itself waits for the grids before it where it has to, and at its exit.
            let value = CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
            add(Is::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value);
        }
        let config = CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: shape.threads[0],
            blockDimY: shape.threads[1],
            blockDimZ: shape.threads[2],
            sharedMemBytes: shape.dynamic_shared,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: count as c_uint,
        };
        use_it(&config)
    }

    /// Gives the kernel to a stream, whose context is current.
    pub(super) fn launch(
        &self,
        grid: Grid,
        call: &Call<'_>,
        stream: CUstream,
    ) -> Result<(), Error> {
        let mut params: Vec<*mut c_void> =
            call.params().iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        // SAFETY: the function is the module's, which this value keeps and which is not unloaded before its
        // kernels have ended. `check` has compared count and sizes of the parameters; the driver copies
        // them and the attributes before it returns. Their meaning is what `Call::new` demands. The
        // memory that they point into stays allocated until the kernel has ended: its owners' reservations have
        // a fence of the launch.
        let launched = self.with_config(grid, call, stream, |config| unsafe {
            let api = self.gpu().api;
            api.cuLaunchKernelEx(config, self.raw, params.as_mut_ptr(), ptr::null_mut())
        });
        launched.map_err(|code| {
            if code.meaning() == Meaning::NotCoResident {
                return self.not_co_resident(grid, call);
            }
            let doing = format!("launching kernel `{}` on {}", self.name, self.gpu().facts.name);
            self.gpu().failed(doing)(code)
        })
    }

    /// What the driver means by "cooperative launch too large".
    fn not_co_resident(&self, Grid(grid): Grid, call: &Call<'_>) -> Error {
        let limit = self.occupancy(call).map_or(0, |occupancy| match occupancy.clusters {
            Some(clusters) => {
                let ctas = call.shape().cluster.unwrap_or([1; 3]).iter().product::<u32>();
                u64::from(clusters) * u64::from(ctas)
            }
            None => occupancy.resident_ctas(),
        });
        let ctas = grid.iter().fold(1u64, |ctas, extent| ctas.saturating_mul((*extent).into()));
        self.bad(BadLaunch::NotCoResident { ctas, limit, device: self.gpu().facts.name.clone() })
    }
}

impl Kernel for GpuKernel {
    fn check(&self, call: &Call<'_>) -> Result<(), Error> {
        let passed = call.params();
        for index in 0..passed.len().max(self.parameters.len()) {
            let compiled = self.parameters.get(index).copied().unwrap_or(0);
            let passed = passed.get(index).map_or(0, Vec::len);
            if compiled != passed || index >= self.parameters.len() {
                let parameter = index;
                return Err(self.bad(BadLaunch::WrongParameter { parameter, compiled, passed }));
            }
        }
        let shape = call.shape();
        let (compiled, called) = (self.cluster, shape.cluster.unwrap_or([1; 3]));
        if compiled != [0; 3] && called != compiled {
            return Err(self.bad(BadLaunch::WrongCluster { compiled, called }));
        }
        let (threads, limit) = (shape.threads, self.threads);
        if threads.iter().product::<u32>() > limit {
            let device = self.gpu().facts.name.clone();
            return Err(self.bad(BadLaunch::BadBlock { threads, limit, device }));
        }
        self.allow_dynamic_shared(shape.dynamic_shared)
    }

    fn occupancy(&self, call: &Call<'_>) -> Result<Occupancy, Error> {
        let gpu = self.gpu();
        let doing = || format!("asking for the occupancy of `{}` on {}", self.name, gpu.facts.name);
        let _entered = gpu.enter(&doing())?;
        let shape = call.shape();
        let mut ctas = 0;
        // SAFETY: the function is the module's, and the result is written to a local.
        unsafe {
            gpu.api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut ctas,
                self.raw,
                shape.threads.iter().product::<u32>() as c_int,
                shape.dynamic_shared as usize,
            )
        }
        .map_err(gpu.failed(doing()))?;
        let clusters = match shape.cluster {
            None => None,
            Some(cluster) => {
                let mut clusters = 0;
                self.with_config(Grid(cluster), call, ptr::null_mut(), |config| {
                    // SAFETY: as above; the configuration and its attributes outlive the call.
                    unsafe { gpu.api.cuOccupancyMaxActiveClusters(&mut clusters, self.raw, config) }
                })
                .map_err(gpu.failed(doing()))?;
                Some(u32::try_from(clusters).unwrap_or(0))
            }
        };
        let ctas_per_multiprocessor = u32::try_from(ctas).unwrap_or(0);
        let multiprocessors = gpu.facts.multiprocessors;
        Ok(Occupancy { ctas_per_multiprocessor, multiprocessors, clusters })
    }
}
