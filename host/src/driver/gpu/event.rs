//! Events: places in a stream's order that can be waited for.
//!
//! An event that was never recorded counts as complete, and one that is recorded again means its new
//! place. So a [`GpuEvent`] only comes out of [`record`], and its handle goes back to the pool
//! when the last reference to it is gone, and not before. A stream that was told to wait for it keeps
//! waiting for the place that it meant then.

use std::ffi::c_uint;
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUevent, CUstream};

use super::context::{Gpu, Handle, locked};
use super::result::{Code, Meaning};
use crate::driver::{Event, WaitPolicy};
use crate::error::Error;
use crate::reservation::{Failure, Status};

/// Waiting for it lets the thread sleep, and it takes no time.
const BLOCKING_WITHOUT_TIME: c_uint = 1 | 2;

/// A place in a stream's order.
pub(super) struct GpuEvent {
    handle: Handle,
    gpu: Arc<Gpu>,
    /// What the driver said last, once it is final.
    ended: OnceLock<Result<(), Failure>>,
}

/// The end of what `stream` was given so far. The stream's context is current.
pub(super) fn record(gpu: &Arc<Gpu>, stream: CUstream) -> Result<GpuEvent, Code> {
    let used = locked(&gpu.events).pop();
    let handle = match used {
        Some(handle) => handle,
        None => create(gpu, BLOCKING_WITHOUT_TIME)?,
    };
    // SAFETY: event and stream are of this context, which is current.
    match unsafe { gpu.api.cuEventRecord(handle.0, stream) } {
        Ok(()) => Ok(GpuEvent { handle, gpu: Arc::clone(gpu), ended: OnceLock::new() }),
        Err(code) => {
            locked(&gpu.events).push(handle);
            Err(code)
        }
    }
}

pub(super) fn create(gpu: &Gpu, flags: c_uint) -> Result<Handle, Code> {
    let mut event = ptr::null_mut();
    // SAFETY: the context is current, and the flags are the driver's.
    unsafe { gpu.api.cuEventCreate(&mut event, flags) }.map(|()| Handle(event))
}

impl GpuEvent {
    pub(super) fn raw(&self) -> CUevent {
        self.handle.0
    }

    fn ask(&self, question: impl FnOnce(CUevent) -> Result<(), Code>) -> Result<Status, Failure> {
        if self.ended.get().is_some() {
            return Ok(self.status());
        }
        let doing = "waiting for work on the GPU";
        let answer = match self.gpu.enter(doing) {
            Ok(_entered) => match self.gpu.relaxed(|| question(self.raw())) {
                Ok(()) => Ok(()),
                Err(code) if code.meaning() == Meaning::NotReady => return Ok(Status::Pending),
                Err(code) => Err(self.gpu.failed(doing)(code)),
            },
            Err(error) => Err(error),
        };
        let ended = match answer {
            // Other answers, such as that nothing may be asked, do not tell how far the work is.
            Err(error) if !matches!(error, Error::DeviceLost { .. }) => {
                return Err(Failure::new(error));
            }
            Err(error) => Err(Failure::new(error)),
            Ok(()) => Ok(()),
        };
        // Another thread may have been told the same.
        let _ = self.ended.set(ended);
        Ok(self.status())
    }
}

impl Event for GpuEvent {
    fn status(&self) -> Status {
        match self.ended.get() {
            None => Status::Pending,
            Some(Ok(())) => Status::Done,
            Some(Err(failure)) => Status::Failed(failure.clone()),
        }
    }

    fn poll(&self) -> Result<Status, Failure> {
        // SAFETY: the event was recorded, and its context is current.
        self.ask(|event| unsafe { self.gpu.api.cuEventQuery(event) })
    }

    fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        let policy = self.gpu.policy();
        if deadline.is_none() && policy == WaitPolicy::Block {
            // SAFETY: the event was recorded, and its context is current.
            return self.ask(|event| unsafe { self.gpu.api.cuEventSynchronize(event) });
        }
        // The driver's own wait has no end and no policy, so look now and then: often at first, because most work
        // is short.
        let mut pause = Duration::ZERO;
        loop {
            let status = self.poll()?;
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if status.is_signaled() || left.is_some_and(|left| left.is_zero()) {
                return Ok(status);
            }
            match policy {
                WaitPolicy::Spin => std::hint::spin_loop(),
                WaitPolicy::Yield => thread::yield_now(),
                WaitPolicy::Block => {
                    thread::sleep(left.map_or(pause, |left| pause.min(left)));
                    pause = (pause * 2).clamp(Duration::from_micros(1), Duration::from_micros(200));
                }
            }
        }
    }
}

impl Drop for GpuEvent {
    fn drop(&mut self) {
        locked(&self.gpu.events).push(Handle(self.handle.0));
    }
}
