//! GPUs, through the CUDA driver.
//!
//! The driver library is loaded at run time, and what is loaded that way answers a missing library
//! or a missing symbol by panicking. So nothing here calls the driver before [`count`] has found the
//! library and every symbol in [`SYMBOLS`]. Its answer is kept: a driver does not come and go.
//!
//! What is here is synchronous: copies block, and a launch waits for its kernel. Streams are in
//! [`queue`], the events that order them in [`event`].

mod event;
mod queue;
mod tensor_map;

use std::ffi::{CStr, CString, c_uint, c_void};
use std::io::Write;
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use baton::launch::Call;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::{CudaContext, sys};

use crate::device::Memory;
use crate::error::{BadLaunch, Error};
use crate::image::{self, Binary, Candidate, Image};
use crate::launch::{Grid, LaunchReport, Limits, Occupancy};

use event::EventPool;

/// Every symbol that this file reaches, directly or through `cudarc`.
const SYMBOLS: [&CStr; 53] = [
    c"cuInit",
    c"cuGetErrorName",
    c"cuGetErrorString",
    c"cuDeviceGetCount",
    c"cuDeviceGet",
    c"cuDeviceGetName",
    c"cuDeviceGetAttribute",
    c"cuDeviceTotalMem_v2",
    c"cuDevicePrimaryCtxRetain",
    c"cuDevicePrimaryCtxRelease_v2",
    c"cuCtxGetCurrent",
    c"cuCtxSetCurrent",
    c"cuCtxSynchronize",
    c"cuMemAlloc_v2",
    c"cuMemFree_v2",
    c"cuMemcpyHtoD_v2",
    c"cuMemcpyDtoH_v2",
    c"cuMemsetD8_v2",
    c"cuModuleLoadDataEx",
    c"cuModuleUnload",
    c"cuModuleGetFunction",
    c"cuFuncGetAttribute",
    c"cuFuncSetAttribute",
    c"cuFuncGetParamInfo",
    c"cuLaunchKernelEx",
    c"cuTensorMapEncodeTiled",
    c"cuTensorMapEncodeIm2col",
    c"cuOccupancyMaxActiveBlocksPerMultiprocessor",
    c"cuOccupancyMaxActiveClusters",
    c"cuEventCreate",
    c"cuEventRecord",
    c"cuEventSynchronize",
    c"cuEventElapsedTime_v2",
    c"cuEventDestroy_v2",
    c"cuEventQuery",
    c"cuStreamCreate",
    c"cuStreamDestroy_v2",
    c"cuStreamSynchronize",
    c"cuStreamWaitEvent",
    c"cuStreamBeginCapture_v2",
    c"cuStreamEndCapture",
    c"cuGraphInstantiateWithFlags",
    c"cuGraphDestroy",
    c"cuGraphLaunch",
    c"cuGraphExecDestroy",
    c"cuMemAllocAsync",
    c"cuMemFreeAsync",
    c"cuMemcpyDtoDAsync_v2",
    c"cuMemcpyHtoDAsync_v2",
    c"cuMemcpyDtoHAsync_v2",
    c"cuMemsetD8Async",
    c"cuMemHostAlloc",
    c"cuMemFreeHost",
];

/// How many GPUs the driver shows; an error says why there is no driver to ask.
pub(crate) fn count() -> Result<usize, Error> {
    enum Found {
        Gpus(usize),
        NoDriver,
        Unusable(String),
    }
    static FOUND: OnceLock<Found> = OnceLock::new();

    let look = || {
        // SAFETY: it opens and closes the library; its initialisers are the driver's own.
        if !unsafe { sys::is_culib_present() } {
            return Found::NoDriver;
        }
        // SAFETY: the library is there, so this does not panic.
        let library = unsafe { sys::culib() };
        let missing = SYMBOLS.iter().find(|symbol| {
            // SAFETY: the symbol is only looked up, never called through this type.
            unsafe { library.get::<*const c_void>(symbol.to_bytes_with_nul()) }.is_err()
        });
        if let Some(symbol) = missing {
            let symbol = symbol.to_string_lossy();
            return Found::Unusable(format!("it lacks {symbol}, so it is older than CUDA 12.8"));
        }
        match CudaContext::device_count() {
            Ok(count) => Found::Gpus(usize::try_from(count).unwrap_or(0)),
            Err(error) => Found::Unusable(text(error)),
        }
    };
    match FOUND.get_or_init(look) {
        Found::Gpus(count) => Ok(*count),
        Found::NoDriver => Err(Error::NoDriver),
        Found::Unusable(reason) => Err(Error::UnusableDriver { reason: reason.clone() }),
    }
}

/// What the driver calls an error.
fn text(error: DriverError) -> String {
    let described = error.error_string().ok().map(|text| text.to_string_lossy());
    match (error.error_name(), described) {
        (Ok(name), Some(text)) => format!("{text} ({})", name.to_string_lossy()),
        _ => format!("error {}", error.0 as u32),
    }
}

/// Makes an [`Error`] of a driver call that failed while `doing` something.
fn failed(doing: impl Into<String>) -> impl FnOnce(DriverError) -> Error {
    let doing = doing.into();
    move |error| match error {
        lost if is_lost(lost) => Error::DeviceLost { doing, reason: text(lost) },
        other => Error::Driver { doing, reason: text(other) },
    }
}

/// Whether an error means that nothing of this process works on the GPU any more, so that whatever was
/// running has ended.
fn is_lost(DriverError(error): DriverError) -> bool {
    use sys::cudaError_enum as Is;
    matches!(
        error,
        Is::CUDA_ERROR_DEINITIALIZED
            | Is::CUDA_ERROR_ECC_UNCORRECTABLE
            | Is::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | Is::CUDA_ERROR_ILLEGAL_ADDRESS
            | Is::CUDA_ERROR_LAUNCH_TIMEOUT
            | Is::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | Is::CUDA_ERROR_ASSERT
            | Is::CUDA_ERROR_HARDWARE_STACK_ERROR
            | Is::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | Is::CUDA_ERROR_MISALIGNED_ADDRESS
            | Is::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | Is::CUDA_ERROR_INVALID_PC
            | Is::CUDA_ERROR_LAUNCH_FAILED
            | Is::CUDA_ERROR_EXTERNAL_DEVICE
    )
}

pub(crate) use event::Event;
pub(crate) use queue::{GpuGraph, GpuQueue};

/// One GPU, by its primary context.
#[derive(Clone)]
pub(crate) struct Gpu {
    context: Arc<CudaContext>,
    events: Arc<EventPool>,
    name: Arc<str>,
    compute_capability: (u32, u32),
    limits: Limits,
}

impl Gpu {
    pub(crate) fn open(index: usize) -> Result<Self, Error> {
        let count = count()?;
        if index >= count {
            return Err(Error::NoSuchGpu { index, count });
        }
        let context = CudaContext::new(index).map_err(failed(format!("opening GPU {index}")))?;
        let name = context.name().map_err(failed(format!("asking GPU {index} for its name")))?;
        use sys::CUdevice_attribute as Is;
        let attribute = |which| {
            let value = context
                .attribute(which)
                .map_err(failed(format!("asking {name} for its limits")))?;
            Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
        };
        let compute_capability = (
            attribute(Is::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Is::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let clusters = attribute(Is::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)? != 0;
        let limits = Limits {
            threads: attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            block: [
                attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            grid: [
                attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            shared: attribute(Is::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            cluster: if clusters { 8 } else { 1 },
        };
        let events = EventPool::new(Arc::clone(&context));
        Ok(Self { context, events, name: name.into(), compute_capability, limits })
    }

    pub(crate) fn index(&self) -> usize {
        self.context.ordinal()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn compute_capability(&self) -> (u32, u32) {
        self.compute_capability
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        self.context.total_mem().ok().map(|bytes| bytes as u64)
    }

    pub(crate) fn no_fitting_code(&self, image: &Image) -> Error {
        let (major, minor) = self.compute_capability;
        Error::NoFittingCode {
            image: image.name,
            built: image.archs(),
            gpu: self.name.to_string(),
            major,
            minor,
        }
    }

    /// Loads the first piece of code that the driver takes. A driver may be too old for machine code
    /// that fits the GPU, or for the version of some PTX, so a refusal is no reason to stop.
    pub(crate) fn load(&self, image: &Image) -> Result<(&'static Binary, LoadedModule), Error> {
        let candidates = image::candidates(image, self.compute_capability);
        if candidates.is_empty() {
            return Err(self.no_fitting_code(image));
        }
        self.bind("loading kernels")?;
        let mut attempts = String::new();
        for candidate in candidates {
            let (binary, from_cubin, loaded) = match candidate {
                Candidate::Cubin(binary, cubin) => (binary, true, self.load_code(cubin)),
                Candidate::Ptx(binary) => (binary, false, self.load_code(binary.ptx.as_bytes())),
            };
            match loaded {
                Ok(raw) => {
                    let context = Arc::clone(&self.context);
                    return Ok((binary, LoadedModule { raw, context, from_cubin }));
                }
                Err(reason) => {
                    let form = if from_cubin { "machine code" } else { "PTX" };
                    attempts.push_str(&format!("\n  {form} for {}: {reason}", binary.arch));
                }
            }
        }
        Err(Error::NotLoaded { image: image.name, gpu: self.name.to_string(), attempts })
    }

    /// Loads machine code or PTX, or gives the driver's own words.
    fn load_code(&self, code: &[u8]) -> Result<sys::CUmodule, String> {
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
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // The driver takes integers by value, cast to pointers.
        let mut values =
            [log.as_mut_ptr().cast(), ptr::without_provenance_mut::<c_void>(log.len())];
        // SAFETY: the image is a whole cubin or zero-terminated PTX, the options and their values are two
        // each, and the log outlives the call and has the length given.
        let loaded = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        loaded.result().map(|()| module).map_err(|error| {
            let said = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy);
            match said {
                Ok(said) if !said.trim().is_empty() => format!("{}: {}", text(error), said.trim()),
                _ => text(error),
            }
        })
    }

    /// A kernel that has been compared with the call that launches it.
    fn ready<'c>(
        &'c self,
        module: &'c LoadedModule,
        call: &'c Call<'c>,
    ) -> Result<ReadyKernel<'c>, Error> {
        let function = self.function(module, call)?;
        function.check_params(call)?;
        let cluster = function.cluster_to_set(call)?;
        function.check_threads(self, call)?;
        function.allow_dynamic_shared(call.shape().dynamic_shared)?;
        let may_overlap = self.compute_capability >= (9, 0);
        Ok(ReadyKernel { function, cluster, may_overlap, call, gpu: &self.name })
    }

    pub(crate) fn occupancy(
        &self,
        module: &LoadedModule,
        call: &Call<'_>,
    ) -> Result<Occupancy, Error> {
        self.bind("asking for a kernel's occupancy")?;
        let kernel = self.ready(module, call)?;
        let doing = || format!("asking for the occupancy of `{}` on {}", call.kernel(), self.name);
        let shape = call.shape();
        let mut ctas = 0;
        // SAFETY: the function is the module's, and the result is written to a local.
        unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut ctas,
                kernel.function.raw,
                shape.threads.iter().product::<u32>() as i32,
                shape.dynamic_shared as usize,
            )
        }
        .result()
        .map_err(failed(doing()))?;
        let clusters = match shape.cluster {
            None => None,
            Some(_) => {
                let mut clusters = 0;
                kernel.with_config(
                    Grid(shape.cluster.unwrap_or([1; 3])),
                    ptr::null_mut(),
                    |config| {
                        // SAFETY: as above; the configuration and its attributes outlive the call.
                        unsafe {
                            sys::cuOccupancyMaxActiveClusters(
                                &mut clusters,
                                kernel.function.raw,
                                config,
                            )
                        }
                        .result()
                        .map_err(failed(doing()))
                    },
                )?;
                Some(u32::try_from(clusters).unwrap_or(0))
            }
        };
        let which = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = self.context.attribute(which).map_err(failed(doing()))?;
        Ok(Occupancy {
            ctas_per_multiprocessor: u32::try_from(ctas).unwrap_or(0),
            multiprocessors: u32::try_from(multiprocessors).unwrap_or(0),
            clusters,
        })
    }

    pub(crate) fn launch(
        &self,
        module: &LoadedModule,
        grid: Grid,
        call: &Call<'_>,
    ) -> Result<LaunchReport, Error> {
        self.bind("launching a kernel")?;
        let kernel = self.ready(module, call)?;
        let stream = self.context.default_stream();

        // The driver writes the kernel's output to the same place as this process.
        let _ = std::io::stdout().flush();
        let event = || {
            self.context
                .new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
                .map_err(failed("creating an event"))
        };
        let (start, end) = (event()?, event()?);
        start.record(&stream).map_err(failed("recording an event"))?;
        kernel.launch(grid, stream.cu_stream())?;
        // Whatever happens, nothing of the kernel runs after this line, and so its memory may be
        // used again by whom the call has borrowed it from.
        let recorded = end.record(&stream);
        self.context.synchronize().and(recorded).map_err(|error| Error::KernelFailed {
            kernel: call.kernel(),
            gpu: self.name.to_string(),
            reason: text(error),
        })?;
        let milliseconds = start.elapsed_ms(&end).map_err(failed("reading a timer"))?;
        Ok(LaunchReport {
            elapsed: Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3),
            instructions: None,
            output: String::new(),
            hazards: Vec::new(),
            trace: None,
        })
    }

    pub(crate) fn stream(&self) -> Result<GpuQueue, Error> {
        GpuQueue::new(self)
    }

    /// Waits for everything that streams were given.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        self.bind("waiting for the GPU")?;
        self.context.synchronize().map_err(failed(format!("waiting for {}", self.name)))
    }

    /// Page-locked host memory, which streams can copy from and to.
    pub(crate) fn alloc_host(&self, bytes: usize) -> Result<*mut u8, Error> {
        self.bind("allocating host memory")?;
        // SAFETY: the context is current; the pointer goes into one buffer, which frees it once.
        unsafe { result::malloc_host(bytes.max(1), 0) }
            .map(|host| host.cast())
            .map_err(failed(format!("page-locking {bytes} bytes of host memory")))
    }

    pub(crate) fn free_host(&self, host: *mut u8) {
        if self.bind("freeing host memory").is_ok() {
            // SAFETY: the pointer is `alloc_host`'s, its buffer is gone, and no stream uses it.
            let _ = unsafe { result::free_host(host.cast()) };
        }
    }

    fn function<'m>(
        &self,
        module: &'m LoadedModule,
        call: &Call<'_>,
    ) -> Result<Function<'m>, Error> {
        let doing = || format!("finding kernel `{}` on {}", call.kernel(), self.name);
        let name = CString::new(call.kernel()).map_err(|_| Error::Driver {
            doing: doing(),
            reason: "its name has a zero byte".into(),
        })?;
        // SAFETY: the module is loaded as long as it is borrowed.
        let raw =
            unsafe { result::module::get_function(module.raw, name) }.map_err(failed(doing()))?;
        Ok(Function { raw, module: std::marker::PhantomData })
    }

    fn bind(&self, doing: &str) -> Result<(), Error> {
        self.context.bind_to_thread().map_err(failed(format!("{doing} on {}", self.name)))
    }
}

impl Memory for Gpu {
    fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        self.bind("allocating")?;
        // The driver refuses to allocate nothing.
        let size = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        // SAFETY: a context is current; the address goes into one buffer, which frees it once.
        unsafe { result::malloc_sync(size) }
            .map_err(failed(format!("allocating {bytes} bytes on {}", self.name)))
    }

    fn free(&self, address: u64) {
        if self.bind("freeing").is_ok() {
            // SAFETY: the address is `alloc`'s, its buffer is gone, and its reservation has no fence that
            // is pending. An error is one of an earlier kernel, which has been reported elsewhere.
            let _ = unsafe { result::free_sync(address) };
        }
    }

    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Error> {
        if out.is_empty() {
            return Ok(());
        }
        self.bind("copying from the device")?;
        // SAFETY: the buffer at the address has as many bytes as `out`.
        unsafe { result::memcpy_dtoh_sync(out, address) }.map_err(failed(format!(
            "copying {} bytes from {}",
            out.len(),
            self.name
        )))
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.bind("copying to the device")?;
        // SAFETY: the buffer at the address has as many bytes as `bytes`.
        unsafe { result::memcpy_htod_sync(address, bytes) }.map_err(failed(format!(
            "copying {} bytes to {}",
            bytes.len(),
            self.name
        )))
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind("filling a buffer")?;
        // SAFETY: the buffer at the address has that many bytes.
        unsafe { result::memset_d8_sync(address, byte, bytes as usize) }
            .map_err(failed(format!("filling {bytes} bytes on {}", self.name)))?;
        // A fill may still be running when the call returns; copies on the same stream wait for it,
        // but the buffer may be freed from another thread.
        self.context
            .synchronize()
            .map_err(failed(format!("filling {bytes} bytes on {}", self.name)))
    }
}

/// A module in a GPU's context.
pub(crate) struct LoadedModule {
    raw: sys::CUmodule,
    context: Arc<CudaContext>,
    from_cubin: bool,
}

// SAFETY: a module's handle may be used from any thread in which its context is current, and every
// use here makes it current first.
unsafe impl Send for LoadedModule {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for LoadedModule {}

impl LoadedModule {
    pub(crate) fn is_cubin(&self) -> bool {
        self.from_cubin
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the handle is this value's alone, and no kernel of it runs: its module's
            // reservation has no fence that is pending.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

/// A kernel with a call that fits it.
struct ReadyKernel<'c> {
    function: Function<'c>,
    /// The cluster shape that the launch has to set.
    cluster: Option<[u32; 3]>,
    /// Whether the GPU can start a grid before the one in front of it has ended.
    may_overlap: bool,
    call: &'c Call<'c>,
    gpu: &'c str,
}

impl ReadyKernel<'_> {
    /// The launch as the driver wants it.
    fn with_config<T>(
        &self,
        Grid(grid): Grid,
        stream: sys::CUstream,
        use_it: impl FnOnce(&sys::CUlaunchConfig) -> T,
    ) -> T {
        let call = self.call;
        let shape = call.shape();
        let mut attributes: Vec<sys::CUlaunchAttribute> = self
            .cluster
            .map(|[x, y, z]| sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue {
                    clusterDim: sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z },
                },
            })
            .into_iter()
            .collect();
        if call.co_resident() {
            // The driver then refuses a grid that does not fit the device at once.
            attributes.push(sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { cooperative: 1 },
            });
        }
        if call.is_dependent() && self.may_overlap {
            // The kernel itself waits for the grids before it where it has to, and at its exit.
            attributes.push(sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
            });
        }
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: shape.threads[0],
            blockDimY: shape.threads[1],
            blockDimZ: shape.threads[2],
            sharedMemBytes: shape.dynamic_shared,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as c_uint,
        };
        use_it(&config)
    }

    /// Gives the kernel to a stream, whose context is current.
    fn launch(&self, grid: Grid, stream: sys::CUstream) -> Result<(), Error> {
        let call = self.call;
        let mut params: Vec<*mut c_void> =
            call.params().iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        // SAFETY: the function is the module's, which is borrowed and not unloaded before its kernels
        // have ended. `check_params` has compared count and sizes of the parameters; the driver copies
        // them and the attributes before it returns. Their meaning is what `Call::new` demands. The
        // memory that they point into stays allocated until the kernel has ended: a launch that waits
        // borrows it, and one that does not adds a fence to its reservation.
        let launched = self.with_config(grid, stream, |config| unsafe {
            sys::cuLaunchKernelEx(config, self.function.raw, params.as_mut_ptr(), ptr::null_mut())
        });
        launched.result().map_err(failed(format!(
            "launching kernel `{}` on {}",
            call.kernel(),
            self.gpu
        )))
    }
}

/// A kernel of a loaded module.
struct Function<'m> {
    raw: sys::CUfunction,
    module: std::marker::PhantomData<&'m LoadedModule>,
}

impl Function<'_> {
    /// Compares the parameters that were compiled with those that are passed.
    fn check_params(&self, call: &Call<'_>) -> Result<(), Error> {
        let wrong = |parameter, compiled, passed| Error::BadLaunch {
            kernel: call.kernel(),
            problem: BadLaunch::WrongParameter { parameter, compiled, passed },
        };
        for (parameter, bytes) in call.params().iter().enumerate() {
            let compiled = self.param_size(parameter).unwrap_or(0);
            if compiled != bytes.len() {
                return Err(wrong(parameter, compiled, bytes.len()));
            }
        }
        let passed = call.params().len();
        match self.param_size(passed) {
            Some(compiled) => Err(wrong(passed, compiled, 0)),
            None => Ok(()),
        }
    }

    fn param_size(&self, parameter: usize) -> Option<usize> {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is loaded, and the results are written to locals; an index past the
        // last parameter is an ordinary error.
        let found = unsafe { sys::cuFuncGetParamInfo(self.raw, parameter, &mut offset, &mut size) };
        found.result().ok().map(|()| size)
    }

    /// The cluster shape that the launch has to set: none if it was compiled in, and then it has to
    /// be the call's.
    fn cluster_to_set(&self, call: &Call<'_>) -> Result<Option<[u32; 3]>, Error> {
        use sys::CUfunction_attribute as Is;
        let compiled = [
            self.attribute(Is::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)?,
            self.attribute(Is::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)?,
            self.attribute(Is::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)?,
        ];
        let called = call.shape().cluster;
        if compiled == [0; 3] {
            return Ok(called);
        }
        if called.unwrap_or([1; 3]) == compiled {
            return Ok(None);
        }
        Err(Error::BadLaunch {
            kernel: call.kernel(),
            problem: BadLaunch::WrongCluster { compiled, called: called.unwrap_or([1; 3]) },
        })
    }

    /// A kernel's registers may allow fewer threads than the GPU does.
    fn check_threads(&self, gpu: &Gpu, call: &Call<'_>) -> Result<(), Error> {
        let limit =
            self.attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        let threads = call.shape().threads;
        if threads.iter().product::<u32>() <= limit {
            return Ok(());
        }
        let device = gpu.name.to_string();
        Err(Error::BadLaunch {
            kernel: call.kernel(),
            problem: BadLaunch::BadBlock { threads, limit, device },
        })
    }

    /// Dynamic shared memory beyond what every GPU has needs the function's consent.
    fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), Error> {
        let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        if bytes <= self.attribute(which)? {
            return Ok(());
        }
        // SAFETY: the function is loaded. The device's limit has been checked, so it fits an `i32`.
        unsafe { sys::cuFuncSetAttribute(self.raw, which, bytes as i32) }
            .result()
            .map_err(failed(format!("allowing {bytes} bytes of dynamic shared memory")))
    }

    fn attribute(&self, which: sys::CUfunction_attribute) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: the function is loaded, and the result is written to a local.
        unsafe { sys::cuFuncGetAttribute(&mut value, which, self.raw) }
            .result()
            .map_err(failed("asking for a kernel's attributes"))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
}
