//! A GPU's streams.
//!
//! All of them are non-blocking, in the driver's words: none waits for the legacy stream, and the
//! order between them is what their waits for events make it.

use std::ffi::{c_uint, c_void};
use std::io::Write;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use baton::launch::Call;
use cudarc::driver::sys::{CUDA_MEMCPY2D, CUgraph, CUgraphExec, CUmemorytype, CUstream};

use super::context::{Gpu, GpuDriver, Handle, locked};
use super::event::{self, GpuEvent};
use super::module::GpuKernel;
use super::result::{Code, Meaning};
use crate::capturing::elsewhere;
use crate::driver::{
    Captured, Driver, Entered, Event, Executable, HostAddress, Kernel, Queue, Report, Rows, Want,
    own, own_mut,
};
use crate::error::Error;
use crate::grid::Grid;
use crate::report::{LaunchReport, StreamReport};

pub(super) struct GpuQueue {
    gpu: Arc<Gpu>,
    raw: CUstream,
    /// Whether somebody else destroys it.
    foreign: bool,
}

// SAFETY: a stream's handle may be used from any thread in which its context is current, and every use
// here makes it current first.
unsafe impl Send for GpuQueue {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for GpuQueue {}

impl GpuQueue {
    pub(super) fn new(gpu: &Arc<Gpu>, want: Want) -> Result<Self, Error> {
        const NON_BLOCKING: c_uint = 1;
        let doing = format!("making a stream of {}", gpu.facts.name);
        let _entered = gpu.enter(&doing)?;
        let (mut least, mut greatest) = (0, 0);
        if want.priority != 0 {
            // SAFETY: the context is current, and the answers are written to locals.
            unsafe { gpu.api.cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }
                .map_err(gpu.failed(&*doing))?;
        }
        // The driver's greater priorities are the smaller numbers.
        let priority =
            want.priority.saturating_neg().clamp(greatest.min(least), least.max(greatest));
        let mut raw = ptr::null_mut();
        // SAFETY: the context is current; the stream is destroyed when this value is dropped.
        gpu.relaxed(|| unsafe {
            gpu.api.cuStreamCreateWithPriority(&mut raw, NON_BLOCKING, priority)
        })
        .map_err(gpu.failed(doing))?;
        Ok(Self { gpu: Arc::clone(gpu), raw, foreign: false })
    }

    /// A stream that somebody else owns.
    pub(super) fn foreign(gpu: &Arc<Gpu>, raw: CUstream) -> Self {
        Self { gpu: Arc::clone(gpu), raw, foreign: true }
    }

    fn on(
        &self,
        doing: &str,
        work: impl FnOnce(CUstream) -> Result<(), Code>,
    ) -> Result<(), Error> {
        let _entered = self.gpu.enter(doing)?;
        work(self.raw).map_err(|code| self.gpu.failed(format!("{doing} on a stream"))(code))
    }
}

/// What a Rust callback is to the driver.
unsafe extern "C" fn call_back(data: *mut c_void) {
    // SAFETY: `callback` has made the pointer of such a box, and the driver passes it on once.
    let callback = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
    crate::capturing::in_callback(*callback);
}

impl Queue for GpuQueue {
    fn enter(&self) -> Result<Entered, Error> {
        self.gpu.enter("giving work to a stream")
    }

    fn launch(&self, kernel: &dyn Kernel, grid: Grid, call: &Call<'_>) -> Result<(), Error> {
        let _entered = self.enter()?;
        own::<GpuKernel>(kernel)?.launch(grid, call, self.raw)
    }

    fn launch_reported(
        &self,
        kernel: &dyn Kernel,
        grid: Grid,
        call: &Call<'_>,
    ) -> Result<Box<dyn Report>, Error> {
        let kernel: &GpuKernel = own(kernel)?;
        let _entered = self.enter()?;
        // The driver writes the kernel's output to the same place as this process.
        let _ = std::io::stdout().flush();
        let timer = Timer::take(&self.gpu)?;
        timer.record(0, self.raw)?;
        kernel.launch(grid, call, self.raw)?;
        // Without the time of its end there is a launch all the same, and the report says so.
        let timed = timer.record(1, self.raw);
        Ok(Box::new(GpuReport { timer, timed }))
    }

    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), Error> {
        self.on("copying a buffer", |stream| {
            // SAFETY: both addresses are of buffers of that many bytes, which are not freed before the
            // fence of this copy has signalled.
            unsafe { self.gpu.api.cuMemcpyDtoDAsync_v2(to, from, bytes, stream) }
        })
    }

    fn copy_rows(&self, rows: Rows) -> Result<(), Error> {
        let Rows { from, from_pitch, to, to_pitch, width, height } = rows;
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: ptr::null(),
            srcDevice: from,
            srcArray: ptr::null_mut(),
            srcPitch: from_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: ptr::null_mut(),
            dstDevice: to,
            dstArray: ptr::null_mut(),
            dstPitch: to_pitch,
            WidthInBytes: width,
            Height: height,
        };
        self.on("copying rows", |stream| {
            // SAFETY: as above, for all bytes of the rows, which the caller has compared with the buffers.
            unsafe { self.gpu.api.cuMemcpy2DAsync_v2(&copy, stream) }
        })
    }

    fn copy_between(
        &self,
        (from, source): (&dyn Driver, u64),
        (to, destination): (&dyn Driver, u64),
        bytes: usize,
    ) -> Result<(), Error> {
        let (GpuDriver(from), GpuDriver(to)) = (own(from)?, own(to)?);
        self.on("copying between GPUs", |stream| {
            // SAFETY: both addresses are of buffers of that many bytes in those contexts, which are not freed before the
            // fence of this copy has signalled, and keep their contexts.
            unsafe {
                self.gpu.api.cuMemcpyPeerAsync(
                    destination,
                    to.context(),
                    source,
                    from.context(),
                    bytes,
                    stream,
                )
            }
        })
    }

    fn upload(&self, from: HostAddress, to: u64, bytes: usize) -> Result<(), Error> {
        self.on("copying to the device", |stream| {
            // SAFETY: as above; the host memory is page-locked and nobody writes it until then.
            unsafe { self.gpu.api.cuMemcpyHtoDAsync_v2(to, from.0.cast(), bytes, stream) }
        })
    }

    fn download(&self, from: u64, to: HostAddress, bytes: usize) -> Result<(), Error> {
        self.on("copying from the device", |stream| {
            // SAFETY: as above; the host memory is page-locked and nobody touches it until then.
            unsafe { self.gpu.api.cuMemcpyDtoHAsync_v2(to.0.cast(), from, bytes, stream) }
        })
    }

    fn fill(&self, address: u64, bytes: usize, byte: u8) -> Result<(), Error> {
        self.on("filling a buffer", |stream| {
            // SAFETY: the address is of a buffer of that many bytes, which is not freed before the fence
            // of this fill has signalled.
            unsafe { self.gpu.api.cuMemsetD8Async(address, byte, bytes, stream) }
        })
    }

    fn alloc(&self, bytes: usize) -> Result<u64, Error> {
        let _entered = self.enter()?;
        let (mut address, api) = (0, self.gpu.api);
        // The driver refuses to allocate nothing.
        let size = bytes.max(1);
        let allocated = match self.gpu.facts.pools {
            // SAFETY: the context is current; the address goes into one buffer, which gives it back once.
            true => unsafe { api.cuMemAllocAsync(&mut address, size, self.raw) },
            // SAFETY: as above.
            false => self.gpu.relaxed(|| unsafe { api.cuMemAlloc_v2(&mut address, size) }),
        };
        allocated.map_err(self.gpu.no_memory(bytes))?;
        Ok(address)
    }

    fn free(&self, address: u64) -> Result<(), Error> {
        self.on("freeing a buffer", |stream| {
            // SAFETY: the address is `alloc`'s, its buffer is gone, and the stream has been told to wait
            // for all work on it.
            unsafe { self.gpu.api.cuMemFreeAsync(address, stream) }
        })
    }

    fn callback(&self, callback: Box<dyn FnOnce() + Send>) -> Result<(), Error> {
        let data = Box::into_raw(Box::new(callback)).cast();
        self.on("calling back", |stream| {
            // SAFETY: the driver calls the function once, with the box's pointer; a driver that refuses does not.
            let given = unsafe { self.gpu.api.cuLaunchHostFunc(stream, call_back, data) };
            if given.is_err() {
                // SAFETY: nobody else has the pointer.
                drop(unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) });
            }
            given
        })
    }

    fn raw(&self) -> Option<*mut c_void> {
        Some(self.raw.cast())
    }

    unsafe fn wait_foreign(&self, event: *mut c_void) -> Result<(), Error> {
        self.on("waiting for another library", |stream| {
            // SAFETY: the caller's, and the stream is this one.
            unsafe { self.gpu.api.cuStreamWaitEvent(stream, event.cast(), 0) }
        })
    }

    fn wait(&self, event: &dyn Event) -> Result<(), Error> {
        let event: &GpuEvent = own(event)?;
        self.on("waiting for another stream", |stream| {
            // SAFETY: the event was recorded and is held by the caller, and the stream is this one.
            unsafe { self.gpu.api.cuStreamWaitEvent(stream, event.raw(), 0) }
        })
    }

    fn record(&self) -> Result<Arc<dyn Event>, Error> {
        let _entered = self.enter()?;
        let event = event::record(&self.gpu, self.raw)
            .map_err(|code| self.gpu.failed("recording on a stream")(code))?;
        Ok(Arc::new(event))
    }

    fn drain(&self) -> Result<(), Error> {
        self.on("waiting", |stream| {
            // SAFETY: the stream is this one.
            self.gpu.relaxed(|| unsafe { self.gpu.api.cuStreamSynchronize(stream) })
        })
    }

    fn reports(&self) -> StreamReport {
        StreamReport::default()
    }

    fn begin_capture(&self) -> Result<(), Error> {
        // Only this thread is kept from what a capture forbids; others do not know of it.
        const THREAD_LOCAL: c_uint = 1;
        self.on("beginning a capture", |stream| {
            // SAFETY: the stream is this one.
            unsafe { self.gpu.api.cuStreamBeginCapture_v2(stream, THREAD_LOCAL) }
        })
    }

    fn end_capture(&self) -> Result<Box<dyn Captured>, Error> {
        let doing = "ending a capture on a stream";
        let _entered = self.gpu.enter(doing)?;
        let api = self.gpu.api;
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is this one, and a capture was begun.
        unsafe { api.cuStreamEndCapture(self.raw, &mut graph) }.map_err(self.gpu.failed(doing))?;
        if graph.is_null() {
            let reason = "the capture has been broken off".into();
            return Err(Error::Driver { doing: doing.into(), reason });
        }
        Ok(Box::new(GpuCaptured { gpu: Arc::clone(&self.gpu), graph }))
    }

    fn is_captured(&self) -> bool {
        const NONE: c_uint = 0;
        let Ok(_entered) = self.gpu.enter("asking for a capture") else { return true };
        let mut status = NONE;
        // SAFETY: the stream is this one, and the answer is written to a local.
        let asked = unsafe { self.gpu.api.cuStreamIsCapturing(self.raw, &mut status) };
        asked.is_err() || status != NONE
    }

    fn executable(&self, captured: &dyn Captured) -> Result<Box<dyn Executable>, Error> {
        let doing = "making a graph of a capture";
        let captured: &GpuCaptured = own(captured)?;
        let _entered = self.gpu.enter(doing)?;
        let mut exec = ptr::null_mut();
        // SAFETY: the graph was captured, and what is made of it does not need it further.
        let made = self.gpu.relaxed(|| unsafe {
            self.gpu.api.cuGraphInstantiateWithFlags(&mut exec, captured.graph, 0)
        });
        made.map_err(self.gpu.failed(doing))?;
        Ok(Box::new(GpuGraph { gpu: Arc::clone(&self.gpu), exec }))
    }

    fn update(
        &self,
        executable: &mut dyn Executable,
        captured: &dyn Captured,
    ) -> Result<bool, Error> {
        let doing = "updating a graph";
        let (old, new): (&mut GpuGraph, &GpuCaptured) = (own_mut(executable)?, own(captured)?);
        let _entered = self.gpu.enter(doing)?;
        // Nothing of it is read: a newer driver has reasons that the type does not know.
        let mut info = MaybeUninit::uninit();
        // SAFETY: both are of this context, nobody else uses either meanwhile, and the answer has room.
        let updated = self.gpu.relaxed(|| unsafe {
            self.gpu.api.cuGraphExecUpdate_v2(old.exec, new.graph, info.as_mut_ptr())
        });
        match updated {
            Ok(()) => Ok(true),
            Err(code) if code.meaning() == Meaning::OtherShape => Ok(false),
            Err(code) => Err(self.gpu.failed(doing)(code)),
        }
    }

    fn launch_graph(&self, graph: &dyn Executable) -> Result<(), Error> {
        let graph: &GpuGraph = own(graph)?;
        self.on("launching a graph", |stream| {
            // SAFETY: the graph is of this context and is kept until its work has ended.
            unsafe { self.gpu.api.cuGraphLaunch(graph.exec, stream) }
        })
    }

    fn upload_graph(&self, graph: &dyn Executable) -> Result<(), Error> {
        let graph: &GpuGraph = own(graph)?;
        self.on("uploading a graph", |stream| {
            // SAFETY: as above.
            unsafe { self.gpu.api.cuGraphUpload(graph.exec, stream) }
        })
    }
}

impl Drop for GpuQueue {
    fn drop(&mut self) {
        if self.foreign {
            return;
        }
        let stream = (Arc::clone(&self.gpu), self.raw.expose_provenance());
        elsewhere(move || {
            let (gpu, raw) = stream;
            let Ok(_entered) = gpu.enter("dropping a stream") else { return };
            // SAFETY: the handle was the dropped value's alone. The driver finishes what the stream was given.
            let _ = unsafe { gpu.api.cuStreamDestroy_v2(ptr::with_exposed_provenance_mut(raw)) };
        });
    }
}

/// Two events that take the time.
struct Timer {
    gpu: Arc<Gpu>,
    /// Both, until it is dropped.
    events: Option<[Handle; 2]>,
}

impl Timer {
    /// The context is current.
    fn take(gpu: &Arc<Gpu>) -> Result<Self, Error> {
        let used = locked(&gpu.timers).pop();
        let make = || Ok([event::create(gpu, 0)?, event::create(gpu, 0)?]);
        let events = used.map_or_else(make, Ok).map_err(gpu.failed("creating an event"))?;
        Ok(Self { gpu: Arc::clone(gpu), events: Some(events) })
    }

    fn record(&self, which: usize, stream: CUstream) -> Result<(), Error> {
        let Some(events) = &self.events else { return Ok(()) };
        // SAFETY: event and stream are of this context, which is current.
        unsafe { self.gpu.api.cuEventRecord(events[which].0, stream) }
            .map_err(self.gpu.failed("recording an event"))
    }

    fn elapsed(&self) -> Result<Duration, Error> {
        let doing = "reading a timer";
        let _entered = self.gpu.enter(doing)?;
        let Some([start, end]) = &self.events else { return Ok(Duration::ZERO) };
        let mut milliseconds = 0.0;
        // SAFETY: both were recorded, and the context is current.
        let read = self.gpu.relaxed(|| unsafe {
            self.gpu.api.cuEventElapsedTime_v2(&mut milliseconds, start.0, end.0)
        });
        read.map_err(self.gpu.failed(doing))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // Recorded again while it is pending, an event means its new place.
        locked(&self.gpu.timers).extend(self.events.take());
    }
}

struct GpuReport {
    timer: Timer,
    timed: Result<(), Error>,
}

impl Report for GpuReport {
    fn take(self: Box<Self>) -> Result<LaunchReport, Error> {
        self.timed?;
        Ok(LaunchReport {
            elapsed: self.timer.elapsed()?,
            instructions: None,
            output: String::new(),
            hazards: Vec::new().into(),
            trace: None,
        })
    }
}

/// What was captured.
struct GpuCaptured {
    gpu: Arc<Gpu>,
    graph: CUgraph,
}

// SAFETY: as for streams; it is only read, and from one thread at a time.
unsafe impl Send for GpuCaptured {}
// SAFETY: as above.
unsafe impl Sync for GpuCaptured {}

impl Captured for GpuCaptured {}

impl Drop for GpuCaptured {
    fn drop(&mut self) {
        let Ok(_entered) = self.gpu.enter("dropping a capture") else { return };
        // SAFETY: the handle is this value's alone, and what was made of it does not need it.
        let _ = self.gpu.relaxed(|| unsafe { self.gpu.api.cuGraphDestroy(self.graph) });
    }
}

/// The same, ready to be launched.
struct GpuGraph {
    gpu: Arc<Gpu>,
    exec: CUgraphExec,
}

// SAFETY: as for streams; `Graph`'s owner does not launch it from two threads at once.
unsafe impl Send for GpuGraph {}
// SAFETY: as above.
unsafe impl Sync for GpuGraph {}

impl Executable for GpuGraph {}

impl Drop for GpuGraph {
    fn drop(&mut self) {
        let Ok(_entered) = self.gpu.enter("dropping a graph") else { return };
        // SAFETY: the handle is this value's alone, and the driver defers what is still running.
        let _ = unsafe { self.gpu.api.cuGraphExecDestroy(self.exec) };
    }
}
