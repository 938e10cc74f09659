//! GPUs, through the CUDA driver.
//!
//! The driver library is loaded at run time ([`api`]), and what its codes mean is said in [`result`]. Three rules
//! hold for every call here:
//!
//! - *The thread is left as it was.* A call needs the GPU's primary context to be current; [`Gpu::enter`] makes it
//!   so and puts back what was current before, which may be another library's.
//! - *Nobody's capture is spoiled.* What the driver calls potentially unsafe during captures is done in relaxed mode
//!   ([`Gpu::relaxed`]): it needs no stream's order, so no capture misses it. Nothing waits for a whole context, and
//!   nothing is on the legacy stream.
//! - *A lost device is known.* A code that says that nothing works any more is kept, and the driver is not asked again.

mod api;
mod event;
mod module;
mod queue;
mod result;
mod tensor_map;
mod words;

use std::any::Any;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use baton::launch::EncodedTensorMap;
use baton_emulator::tensor_map::TensorMapDesc;
use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute, CUevent};

use super::{Code, Driver, Entered, GpuFacts, HostAddress, Queue, WaitPolicy, Want};
use crate::error::Error;
use crate::grid::Limits;
use crate::image::{Binary, Image};

use api::Api;
use queue::GpuQueue;
use result::Meaning;

/// How many GPUs the driver shows; an error says why there is no driver to ask.
pub(crate) fn count() -> Result<usize, Error> {
    api::api().map(|(_, count)| count)
}

/// What can be known of a GPU without a context: opening one takes seconds and hundreds of MiB.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub index: usize,
    pub name: String,
    pub compute_capability: (u32, u32),
    pub memory: u64,
    pub multiprocessors: u32,
    limits: Limits,
    /// Whether it has memory pools, whose memory comes and goes in a stream's order.
    pools: bool,
    device: CUdevice,
}

/// Asks the driver about a GPU.
pub(crate) fn facts(index: usize) -> Result<Facts, Error> {
    let (api, count) = api::api()?;
    if index >= count {
        return Err(Error::NoSuchGpu { index, count });
    }
    let failed = |code: result::Code| Error::Driver {
        doing: format!("asking GPU {index} what it is"),
        reason: code.text(api),
    };
    let (mut device, mut memory) = (0, 0);
    let mut name = [0; 256];
    // SAFETY: the driver is initialised; results are written to locals, the name with at most as many bytes.
    unsafe {
        api.cuDeviceGet(&mut device, index as c_int).map_err(failed)?;
        api.cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device).map_err(failed)?;
        api.cuDeviceTotalMem_v2(&mut memory, device).map_err(failed)?;
    }
    // SAFETY: the driver ends the name in a zero.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let attribute = |which: CUdevice_attribute| {
        let mut value = 0;
        // SAFETY: as above.
        unsafe { api.cuDeviceGetAttribute(&mut value, which as c_uint, device) }.map_err(failed)?;
        Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
    };
    use CUdevice_attribute as Is;
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
        cluster: match attribute(Is::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)? {
            0 => 1,
            _ => 8,
        },
    };
    let compute_capability = (
        attribute(Is::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(Is::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    let multiprocessors = attribute(Is::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let pools = attribute(Is::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0;
    let memory = memory as u64;
    Ok(Facts { index, name, compute_capability, memory, multiprocessors, limits, pools, device })
}

impl Facts {
    pub(crate) fn no_fitting_code(&self, image: &Image) -> Error {
        let (major, minor) = self.compute_capability;
        let gpu = self.name.clone();
        Error::NoFittingCode { image: image.name, built: image.archs(), gpu, major, minor }
    }
}

/// One GPU, by its primary context.
#[derive(Clone)]
pub(crate) struct GpuDriver(Arc<Gpu>);

/// What everything of one GPU has in common.
struct Gpu {
    api: &'static Api,
    facts: Facts,
    context: CUcontext,
    /// What the driver said when the context ended.
    lost: OnceLock<String>,
    /// Events, and pairs of events that take the time, which nobody waits for.
    events: Mutex<Vec<Handle>>,
    timers: Mutex<Vec<[Handle; 2]>>,
    policy: AtomicU8,
}

/// An event of the driver.
struct Handle(CUevent);

// SAFETY: an event's handle may be used from any thread in which its context is current, and every use here makes
// it current first.
unsafe impl Send for Handle {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for Handle {}

// SAFETY: the context's handle may be used from any thread, and so may all that belongs to it.
unsafe impl Send for Gpu {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for Gpu {}

thread_local! {
    /// The context that one of our callers has made current, so that calls within need not ask again.
    static INSIDE: Cell<CUcontext> = const { Cell::new(ptr::null_mut()) };
}

impl GpuDriver {
    pub(crate) fn open(index: usize) -> Result<Self, Error> {
        let (api, _) = api::api()?;
        let facts = facts(index)?;
        let mut context = ptr::null_mut();
        // SAFETY: the device is the driver's; the context is released when this value is dropped.
        unsafe { api.cuDevicePrimaryCtxRetain(&mut context, facts.device) }.map_err(|code| {
            let doing = format!("opening {}", facts.name);
            Error::Driver { doing, reason: code.text(api) }
        })?;
        let (events, timers) = Default::default();
        let (lost, policy) = (OnceLock::new(), AtomicU8::new(WaitPolicy::default() as u8));
        Ok(Self(Arc::new(Gpu { api, facts, context, lost, events, timers, policy })))
    }
}

impl Gpu {
    /// Makes the context current, and what was current before at the end.
    fn enter(&self, doing: &str) -> Result<Entered, Error> {
        self.alive(doing)?;
        let inside = INSIDE.get();
        if inside == self.context {
            return Ok(Entered(None));
        }
        let mut before = ptr::null_mut();
        // SAFETY: the context is retained as long as this value lives; the answer is written to a local.
        let entered = unsafe {
            self.api.cuCtxGetCurrent(&mut before).and_then(|()| match before == self.context {
                true => Ok(()),
                false => self.api.cuCtxSetCurrent(self.context),
            })
        };
        entered.map_err(self.failed(doing))?;
        INSIDE.set(self.context);
        let leave = match before == self.context {
            true => |[inside, _]: [usize; 2]| INSIDE.set(ptr::with_exposed_provenance_mut(inside)),
            false => |[inside, before]: [usize; 2]| {
                INSIDE.set(ptr::with_exposed_provenance_mut(inside));
                if let Ok((api, _)) = api::api() {
                    // SAFETY: it was current when the caller came. If somebody has destroyed it since, that is an
                    // error of theirs, and nothing here can do anything about it.
                    let _ =
                        unsafe { api.cuCtxSetCurrent(ptr::with_exposed_provenance_mut(before)) };
                }
            },
        };
        Ok(Entered::new(leave, [inside.expose_provenance(), before.expose_provenance()]))
    }

    /// Calls that the driver refuses while anybody captures in the strictest mode, and which would spoil that capture:
    /// they allocate, load or ask, and have no part in any stream's order.
    fn relaxed<T>(&self, act: impl FnOnce() -> T) -> T {
        const RELAXED: c_uint = 2;
        let mut mode = RELAXED;
        // SAFETY: the mode is one of the three; it is the thread's own.
        let exchanged = unsafe { self.api.cuThreadExchangeStreamCaptureMode(&mut mode) };
        let done = act();
        if exchanged.is_ok() {
            // SAFETY: as above; the mode that was before.
            let _ = unsafe { self.api.cuThreadExchangeStreamCaptureMode(&mut mode) };
        }
        done
    }

    fn alive(&self, doing: &str) -> Result<(), Error> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(Error::DeviceLost { doing: doing.into(), reason: reason.clone() }),
        }
    }

    /// Makes an [`Error`] of a call that failed while `doing` something.
    fn failed(&self, doing: impl Into<String>) -> impl FnOnce(result::Code) -> Error {
        let doing = doing.into();
        move |code| match code.meaning() {
            Meaning::Lost => {
                let reason = self.lost.get_or_init(|| code.text(self.api)).clone();
                Error::DeviceLost { doing, reason }
            }
            _ => Error::Driver { doing, reason: code.text(self.api) },
        }
    }

    /// The same for a call that asks for memory.
    fn no_memory(&self, bytes: usize) -> impl FnOnce(result::Code) -> Error {
        move |code| match code.meaning() {
            Meaning::OutOfMemory => Error::OutOfMemory {
                bytes: bytes as u64,
                device: self.facts.name.clone(),
                reason: code.text(self.api),
            },
            _ => self.failed(format!("allocating {bytes} bytes on {}", self.facts.name))(code),
        }
    }

    fn policy(&self) -> WaitPolicy {
        match self.policy.load(Ordering::Relaxed) {
            0 => WaitPolicy::Block,
            1 => WaitPolicy::Yield,
            _ => WaitPolicy::Spin,
        }
    }
}

fn locked<T>(list: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let entered = self.enter("closing");
        let timers = locked(&self.timers).drain(..).flatten().collect::<Vec<_>>();
        for handle in locked(&self.events).drain(..).chain(timers) {
            if entered.is_ok() {
                // SAFETY: the handle came from the pool and nobody else has it. The driver keeps what it needs
                // until the streams that wait for it have gone on.
                let _ = unsafe { self.api.cuEventDestroy_v2(handle.0) };
            }
        }
        drop(entered);
        // SAFETY: it was retained once, and everything that used it is gone.
        let _ = unsafe { self.api.cuDevicePrimaryCtxRelease_v2(self.facts.device) };
    }
}

impl Driver for GpuDriver {
    fn name(&self) -> &str {
        &self.0.facts.name
    }

    fn as_gpu(&self) -> Option<GpuFacts> {
        let Facts { index, compute_capability, .. } = self.0.facts;
        Some(GpuFacts { index, compute_capability })
    }

    fn alive(&self, doing: &str) -> Result<(), Error> {
        self.0.alive(doing)
    }

    fn limits(&self, _arch: &str) -> (Limits, String) {
        (self.0.facts.limits, self.0.facts.name.clone())
    }

    fn most_co_resident(&self) -> Option<u64> {
        None
    }

    fn load(&self, image: &Image) -> Result<(&'static Binary, Arc<dyn Code>), Error> {
        module::load(&self.0, image)
    }

    fn queue(&self, want: Want) -> Result<Box<dyn Queue>, Error> {
        Ok(Box::new(GpuQueue::new(&self.0, want)?))
    }

    fn frees_in_order(&self) -> bool {
        self.0.facts.pools
    }

    fn free(&self, address: u64) {
        let Ok(_entered) = self.0.enter("freeing") else { return };
        // SAFETY: the address is `alloc`'s, its buffer is gone, and no work uses it.
        let _ = self.0.relaxed(|| unsafe { self.0.api.cuMemFree_v2(address) });
    }

    fn alloc_host(&self, bytes: usize) -> Result<HostAddress, Error> {
        let _entered = self.0.enter("allocating host memory")?;
        let mut host = ptr::null_mut();
        let doing = format!("page-locking {bytes} bytes of host memory");
        // SAFETY: the context is current; the pointer goes into one buffer, which frees it once.
        let locked =
            self.0.relaxed(|| unsafe { self.0.api.cuMemHostAlloc(&mut host, bytes.max(1), 0) });
        locked.map_err(self.0.failed(doing))?;
        Ok(HostAddress(host.cast()))
    }

    fn free_host(&self, host: HostAddress, _bytes: usize) {
        let Ok(_entered) = self.0.enter("freeing host memory") else { return };
        // SAFETY: the pointer is `alloc_host`'s, its owner is gone, and no work uses it.
        let _ = self.0.relaxed(|| unsafe { self.0.api.cuMemFreeHost(host.0.cast()) });
    }

    fn encode(&self, map: &TensorMapDesc) -> Result<EncodedTensorMap, String> {
        tensor_map::encode(&self.0, map)
    }

    fn set_wait_policy(&self, policy: WaitPolicy) {
        self.0.policy.store(policy as u8, Ordering::Relaxed);
    }
}

/// This GPU's own type behind one of the driver's traits.
fn own<T: 'static>(what: &dyn Any) -> Result<&T, Error> {
    super::own(what)
}
