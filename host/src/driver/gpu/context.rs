//! A GPU's primary context, and what is known of the GPU without it.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute, CUevent};

use super::api::{self, Api};
use super::result::{self, Meaning};
use crate::capturing::{elsewhere, not_in_callback};
use crate::driver::{Entered, WaitPolicy};
use crate::error::Error;
use crate::grid::Limits;
use crate::image::Image;

/// How many GPUs the driver shows; an error says why there is no driver to ask.
pub(crate) fn count() -> Result<usize, Error> {
    not_in_callback("looking for GPUs")?;
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
    pub(super) limits: Limits,
    /// Whether it has memory pools, whose memory comes and goes in a stream's order.
    pub(super) pools: bool,
    /// Whether the host may look at managed memory while kernels run.
    pub(super) managed: bool,
    device: CUdevice,
}

/// Asks the driver about a GPU.
pub(crate) fn facts(index: usize) -> Result<Facts, Error> {
    not_in_callback("asking a GPU what it is")?;
    let (api, count) = api::api()?;
    if index >= count {
        return Err(Error::NoSuchGpu { index, count });
    }
    let failed = |code: result::Code| Error::Driver {
        doing: format!("asking GPU {index} what it is"),
        reason: api.text(code),
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
    let managed = attribute(Is::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? != 0;
    Ok(Facts {
        index,
        name,
        compute_capability,
        memory: memory as u64,
        multiprocessors,
        limits,
        pools,
        managed,
        device,
    })
}

impl Facts {
    pub(crate) fn no_fitting_code(&self, image: &Image) -> Error {
        let (major, minor) = self.compute_capability;
        let gpu = self.name.clone();
        Error::NoFittingCode { image: image.name, built: image.archs(), gpu, major, minor }
    }
}

/// What everything of one GPU has in common.
pub(super) struct Gpu {
    pub(super) api: &'static Api,
    pub(super) facts: Facts,
    context: CUcontext,
    /// What the driver said when the context ended.
    lost: OnceLock<String>,
    /// Events, and pairs of events that take the time, which nobody waits for.
    pub(super) events: Mutex<Vec<Handle>>,
    pub(super) timers: Mutex<Vec<[Handle; 2]>>,
    pub(super) policy: AtomicU8,
}

/// One GPU as a device, by its primary context.
#[derive(Clone)]
pub(crate) struct GpuDriver(pub(super) Arc<Gpu>);

impl GpuDriver {
    pub(crate) fn open(index: usize) -> Result<Self, Error> {
        Gpu::open(index).map(Self)
    }
}

/// An event of the driver.
pub(super) struct Handle(pub(super) CUevent);

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

impl Gpu {
    pub(super) fn open(index: usize) -> Result<Arc<Self>, Error> {
        let (api, _) = api::api()?;
        let facts = facts(index)?;
        let mut context = ptr::null_mut();
        // SAFETY: the device is the driver's; the context is released when this value is dropped.
        unsafe { api.cuDevicePrimaryCtxRetain(&mut context, facts.device) }.map_err(|code| {
            let doing = format!("opening {}", facts.name);
            Error::Driver { doing, reason: api.text(code) }
        })?;
        let (events, timers) = Default::default();
        let (lost, policy) = (OnceLock::new(), AtomicU8::new(WaitPolicy::default() as u8));
        Ok(Arc::new(Self { api, facts, context, lost, events, timers, policy }))
    }
}

impl Gpu {
    /// Makes the context current, and what was current before at the end.
    pub(super) fn enter(&self, doing: &str) -> Result<Entered, Error> {
        not_in_callback(doing)?;
        self.alive(doing)?;
        let current = Current { api: self.api, context: self.context.expose_provenance() };
        current.enter().map_err(self.failed(doing))
    }
}

/// What it takes to make a context current.
struct Current {
    api: &'static Api,
    /// Its address, which may go to another thread. It is retained as long as this is used.
    context: usize,
}

impl Current {
    fn enter(&self) -> Result<Entered, result::Code> {
        let context: CUcontext = ptr::with_exposed_provenance_mut(self.context);
        let inside = INSIDE.get();
        if inside == context {
            return Ok(Entered(None));
        }
        let mut before = ptr::null_mut();
        // SAFETY: the context is retained; the answer is written to a local.
        unsafe {
            self.api.cuCtxGetCurrent(&mut before)?;
            if before != context {
                self.api.cuCtxSetCurrent(context)?;
            }
        }
        INSIDE.set(context);
        let leave = match before == context {
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
}

impl Gpu {
    /// Calls that the driver refuses while anybody captures in the strictest mode, and which would spoil that capture:
    /// they allocate, load or ask, and have no part in any stream's order.
    pub(super) fn relaxed<T>(&self, act: impl FnOnce() -> T) -> T {
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

    /// For calls that name two contexts.
    pub(super) fn context(&self) -> CUcontext {
        self.context
    }

    pub(super) fn alive(&self, doing: &str) -> Result<(), Error> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(Error::DeviceLost { doing: doing.into(), reason: reason.clone() }),
        }
    }

    /// Makes an [`Error`] of a call that failed while `doing` something.
    pub(super) fn failed(&self, doing: impl Into<String>) -> impl FnOnce(result::Code) -> Error {
        let doing = doing.into();
        move |code| match code.meaning() {
            Meaning::Lost => {
                let reason = self.lost.get_or_init(|| self.api.text(code)).clone();
                Error::DeviceLost { doing, reason }
            }
            _ => Error::Driver { doing, reason: self.api.text(code) },
        }
    }

    /// The same for a call that asks for memory.
    pub(super) fn no_memory(&self, bytes: usize) -> impl FnOnce(result::Code) -> Error {
        move |code| match code.meaning() {
            Meaning::OutOfMemory => Error::OutOfMemory {
                bytes: bytes as u64,
                device: self.facts.name.clone(),
                reason: self.api.text(code),
            },
            _ => self.failed(format!("allocating {bytes} bytes on {}", self.facts.name))(code),
        }
    }

    pub(super) fn policy(&self) -> WaitPolicy {
        match self.policy.load(Ordering::Relaxed) {
            0 => WaitPolicy::Block,
            1 => WaitPolicy::Yield,
            _ => WaitPolicy::Spin,
        }
    }
}

pub(super) fn locked<T>(list: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let mut events: Vec<_> = locked(&self.events).drain(..).collect();
        events.extend(locked(&self.timers).drain(..).flatten());
        let current = Current { api: self.api, context: self.context.expose_provenance() };
        let (device, is_lost) = (self.facts.device, self.lost.get().is_some());
        elsewhere(move || {
            let api = current.api;
            if !is_lost && let Ok(_entered) = current.enter() {
                for Handle(event) in events {
                    // SAFETY: the handle came from the pool and nobody else has it. The driver keeps what it needs
                    // until the streams that wait for it have gone on.
                    let _ = unsafe { api.cuEventDestroy_v2(event) };
                }
            }
            // SAFETY: it was retained once, and everything that used it is gone.
            let _ = unsafe { api.cuDevicePrimaryCtxRelease_v2(device) };
        });
    }
}
