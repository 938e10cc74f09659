//! Events: places in a stream's order that can be waited for.
//!
//! An event that was never recorded counts as complete, and one that is recorded again means its new
//! place. So an [`Event`] only comes out of [`EventPool::record`], and its handle goes back to the pool
//! when the last reference to it is gone, and not before. A stream that was told to wait for it keeps
//! waiting for the place that it meant then.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::{CudaContext, sys};

use super::{failed, is_lost};
use crate::Error;
use crate::reservation::{Failure, Status};

/// The events of one GPU that nobody waits for.
pub(crate) struct EventPool {
    context: Arc<CudaContext>,
    free: Mutex<Vec<Handle>>,
}

struct Handle(sys::CUevent);

// SAFETY: an event's handle may be used from any thread in which its context is current, and every use
// here makes it current first.
unsafe impl Send for Handle {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for Handle {}

impl EventPool {
    pub(crate) fn new(context: Arc<CudaContext>) -> Arc<Self> {
        Arc::new(Self { context, free: Mutex::new(Vec::new()) })
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Handle>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<Handle, DriverError> {
        let used = self.free().pop();
        used.map_or_else(
            || result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map(Handle),
            Ok,
        )
    }

    /// The end of what `stream` was given so far. The stream's context is current.
    pub(super) fn record(self: &Arc<Self>, stream: sys::CUstream) -> Result<Event, DriverError> {
        let handle = self.take()?;
        // SAFETY: event and stream are of this context, which is current.
        let recorded = unsafe { result::event::record(handle.0, stream) };
        match recorded {
            Ok(()) => Ok(Event { handle, pool: Arc::clone(self), ended: OnceLock::new() }),
            Err(error) => {
                self.free().push(handle);
                Err(error)
            }
        }
    }
}

impl Drop for EventPool {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            for handle in self.free().drain(..) {
                // SAFETY: the handle came from the pool and nobody else has it. The driver keeps what it
                // needs until the streams that wait for it have gone on.
                let _ = unsafe { result::event::destroy(handle.0) };
            }
        }
    }
}

/// A place in a stream's order.
pub(crate) struct Event {
    handle: Handle,
    pool: Arc<EventPool>,
    /// What the driver said last, once it is final.
    ended: OnceLock<Result<(), Failure>>,
}

impl Event {
    pub(super) fn raw(&self) -> sys::CUevent {
        self.handle.0
    }

    pub(crate) fn status(&self) -> Status {
        match self.ended.get() {
            None => Status::Pending,
            Some(Ok(())) => Status::Done,
            Some(Err(failure)) => Status::Failed(failure.clone()),
        }
    }

    pub(crate) fn poll(&self) -> Result<Status, Failure> {
        self.ask(|event| {
            // SAFETY: the event was recorded, and its context is current.
            unsafe { sys::cuEventQuery(event) }
        })
    }

    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        let Some(deadline) = deadline else {
            return self.ask(|event| {
                // SAFETY: the event was recorded, and its context is current.
                unsafe { sys::cuEventSynchronize(event) }
            });
        };
        // The driver's own wait has no end, so look now and then: often at first, because most work is
        // short.
        let mut pause = Duration::ZERO;
        loop {
            let status = self.poll()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if status.is_signaled() || left.is_zero() {
                return Ok(status);
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).clamp(Duration::from_micros(1), Duration::from_micros(200));
        }
    }

    fn ask(&self, question: impl FnOnce(sys::CUevent) -> sys::CUresult) -> Result<Status, Failure> {
        if self.ended.get().is_none() {
            let answer =
                self.pool.context.bind_to_thread().and_then(|()| question(self.raw()).result());
            let ended = match answer {
                Ok(()) => Ok(()),
                Err(DriverError(sys::cudaError_enum::CUDA_ERROR_NOT_READY)) => {
                    return Ok(Status::Pending);
                }
                Err(error) => {
                    let failure = Failure::new(failed("waiting for work on the GPU")(error));
                    // Other answers, such as that nothing may be asked during a capture, do not tell
                    // how far the work is.
                    if !is_lost(error) {
                        return Err(failure);
                    }
                    Err(failure)
                }
            };
            // Another thread may have been told the same.
            let _ = self.ended.set(ended);
        }
        Ok(self.status())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.pool.free().push(Handle(self.handle.0));
    }
}

/// The error of a stream's operation.
pub(super) fn on_stream(doing: &str) -> impl FnOnce(DriverError) -> Error {
    failed(format!("{doing} on a stream"))
}
