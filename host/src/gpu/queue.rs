//! A GPU's streams.
//!
//! All of them are non-blocking, in the driver's words: none waits for the default stream, and the
//! order between them is what their waits for events make it.

use std::ptr;
use std::sync::Arc;

use baton::launch::Call;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use super::event::on_stream;
use super::{Event, Gpu, failed};
use crate::Error;
use crate::launch::Grid;
use crate::module::Loaded;
use crate::stream::queue::{Graph, HostAddress, Point, Queue, Reports};

pub(crate) struct GpuQueue {
    gpu: Gpu,
    raw: sys::CUstream,
}

// SAFETY: a stream's handle may be used from any thread in which its context is current, and every use
// here makes it current first.
unsafe impl Send for GpuQueue {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for GpuQueue {}

impl GpuQueue {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, Error> {
        gpu.bind("making a stream")?;
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(failed(format!("making a stream of {}", gpu.name)))?;
        Ok(Self { gpu: gpu.clone(), raw })
    }

    fn on(
        &self,
        doing: &str,
        work: impl FnOnce(sys::CUstream) -> Result<(), DriverError>,
    ) -> Result<(), Error> {
        self.gpu.bind(doing)?;
        work(self.raw).map_err(on_stream(doing))
    }
}

impl Queue for GpuQueue {
    fn launch(&self, module: &Arc<Loaded>, grid: Grid, call: &Call<'_>) -> Result<(), Error> {
        let Loaded::Gpu(module) = &**module else { return Err(Error::foreign_module(call)) };
        self.gpu.bind("launching a kernel")?;
        self.gpu.ready(module, call)?.launch(grid, self.raw)
    }

    fn wait(&self, point: &Point) -> Result<(), Error> {
        let Point::Gpu(event) = point else { return Err(Error::ForeignFence) };
        self.on("waiting for another stream", |stream| {
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            // SAFETY: the event was recorded and is held by the caller, and the stream is this one.
            unsafe { result::stream::wait_event(stream, event.raw(), flags) }
        })
    }

    fn record(&self) -> Result<Point, Error> {
        self.gpu.bind("recording an event")?;
        let event: Event = self.gpu.events.record(self.raw).map_err(on_stream("recording"))?;
        Ok(Point::Gpu(event))
    }

    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), Error> {
        self.on("copying a buffer", |stream| {
            // SAFETY: both addresses are of buffers of that many bytes, which are not freed before the
            // fence of this copy has signalled.
            unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream).result() }
        })
    }

    fn upload(&self, from: HostAddress, to: u64, bytes: usize) -> Result<(), Error> {
        self.on("copying to the device", |stream| {
            // SAFETY: as above; the host memory is page-locked and nobody writes it until then.
            unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.0.cast(), bytes, stream).result() }
        })
    }

    fn download(&self, from: u64, to: HostAddress, bytes: usize) -> Result<(), Error> {
        self.on("copying from the device", |stream| {
            // SAFETY: as above; the host memory is page-locked and nobody touches it until then.
            unsafe { sys::cuMemcpyDtoHAsync_v2(to.0.cast(), from, bytes, stream).result() }
        })
    }

    fn fill(&self, address: u64, bytes: usize, byte: u8) -> Result<(), Error> {
        self.on("filling a buffer", |stream| {
            // SAFETY: the address is of a buffer of that many bytes, which is not freed before the fence
            // of this fill has signalled.
            unsafe { result::memset_d8_async(address, byte, bytes, stream) }
        })
    }

    fn alloc(&self, bytes: usize) -> Result<u64, Error> {
        self.gpu.bind("allocating")?;
        // SAFETY: the context is current; the address goes into one buffer.
        unsafe { result::malloc_async(self.raw, bytes) }
            .map_err(failed(format!("allocating {} bytes on {}", bytes, self.gpu.name)))
    }

    fn free(&self, address: u64) -> Result<(), Error> {
        self.on("freeing a buffer", |stream| {
            // SAFETY: the address is `alloc`'s, its buffer is gone, and the stream has been told to wait
            // for all work on it.
            unsafe { result::free_async(address, stream) }
        })
    }

    fn synchronize(&self) -> Result<Reports, Error> {
        self.on("waiting for a stream", |stream| {
            // SAFETY: the stream is this one.
            unsafe { result::stream::synchronize(stream) }
        })?;
        Ok(Reports::default())
    }

    fn begin_capture(&self) -> Result<(), Error> {
        self.on("beginning a capture", |stream| {
            // Only this thread is kept from what a capture forbids; others do not know of it.
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            // SAFETY: the stream is this one.
            unsafe { result::stream::begin_capture(stream, mode) }
        })
    }

    fn end_capture(&self) -> Result<Graph, Error> {
        self.gpu.bind("ending a capture")?;
        // SAFETY: the stream is this one, and a capture was begun.
        let graph = unsafe { result::stream::end_capture(self.raw) }
            .map_err(on_stream("ending a capture"))?;
        if graph.is_null() {
            return Err(Error::Driver {
                doing: "ending a capture on a stream".into(),
                reason: "the capture has been broken off".into(),
            });
        }
        let mut exec = ptr::null_mut();
        // SAFETY: the graph was captured just now.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0).result() };
        // SAFETY: the graph is nobody else's, and what was made of it does not need it.
        let _ = unsafe { sys::cuGraphDestroy(graph).result() };
        made.map_err(failed("making a graph of a capture"))?;
        Ok(Graph::Gpu(GpuGraph { gpu: self.gpu.clone(), exec }))
    }

    fn launch_graph(&self, graph: &Graph) -> Result<(), Error> {
        let Graph::Gpu(graph) = graph else { return Err(Error::ForeignFence) };
        self.on("launching a graph", |stream| {
            // SAFETY: the graph is of this context and is kept until its work has ended.
            unsafe { sys::cuGraphLaunch(graph.exec, stream).result() }
        })
    }
}

impl Drop for GpuQueue {
    fn drop(&mut self) {
        if self.gpu.context.bind_to_thread().is_ok() {
            // SAFETY: the handle is this value's alone. The driver finishes what the stream was given.
            let _ = unsafe { result::stream::destroy(self.raw) };
        }
    }
}

/// A captured sequence of work.
pub(crate) struct GpuGraph {
    gpu: Gpu,
    exec: sys::CUgraphExec,
}

// SAFETY: as for streams; `Graph`'s owner does not launch it from two threads at once.
unsafe impl Send for GpuGraph {}
// SAFETY: as above.
unsafe impl Sync for GpuGraph {}

impl Drop for GpuGraph {
    fn drop(&mut self) {
        if self.gpu.context.bind_to_thread().is_ok() {
            // SAFETY: the handle is this value's alone, and the driver defers what is still running.
            let _ = unsafe { sys::cuGraphExecDestroy(self.exec).result() };
        }
    }
}
