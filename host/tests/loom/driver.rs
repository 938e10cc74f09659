//! A driver that writes down what it is asked, in the order in which it is asked: what an order of work needs of one.

use std::any::Any;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::error::Error;
use crate::report::StreamReport;
use crate::reservation::{Failure, Status};

/// One call: which queue, and what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub queue: usize,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Work(&'static str),
    /// The event with this number.
    Record(usize),
    Wait(usize),
}

/// Held for no longer than a line is written, so that the model checker does not meet it.
pub(crate) type Log = Arc<Mutex<Vec<Call>>>;

pub(crate) trait Driver: Any + Send + Sync {
    fn alive(&self, doing: &str) -> Result<(), Error>;
    fn queue(&self, want: Want) -> Result<Box<dyn Queue>, Error>;
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Want {
    pub isolated: bool,
}

/// Nothing has to be put back.
pub(crate) struct Entered;

pub(crate) trait Queue: Any + Send + Sync {
    fn enter(&self) -> Result<Entered, Error> {
        Ok(Entered)
    }
    fn work(&self, what: &'static str) -> Result<(), Error>;
    fn wait(&self, event: &dyn Event) -> Result<(), Error>;
    fn record(&self) -> Result<Arc<dyn Event>, Error>;

    // What is not looked at here.
    fn raw(&self) -> Option<*mut c_void> {
        None
    }
    unsafe fn wait_foreign(&self, _event: *mut c_void) -> Result<(), Error> {
        Err(Error::ForeignFence)
    }
    fn drain(&self) -> Result<(), Error> {
        Err(Error::ForeignFence)
    }
    fn reports(&self) -> StreamReport {
        StreamReport::default()
    }
    fn begin_capture(&self) -> Result<(), Error> {
        Err(Error::ForeignFence)
    }
    fn end_capture(&self) -> Result<Box<dyn Captured>, Error> {
        Err(Error::ForeignFence)
    }
    fn is_captured(&self) -> bool {
        false
    }
    fn executable(&self, _captured: &dyn Captured) -> Result<Box<dyn Executable>, Error> {
        Err(Error::ForeignFence)
    }
    fn update(&self, _old: &mut dyn Executable, _new: &dyn Captured) -> Result<bool, Error> {
        Err(Error::ForeignFence)
    }
}

pub(crate) trait Event: Any + Send + Sync {
    fn number(&self) -> usize;
    fn status(&self) -> Status {
        Status::Pending
    }
    fn poll(&self) -> Result<Status, Failure> {
        Ok(Status::Pending)
    }
    fn wait(&self, _deadline: Option<Instant>) -> Result<Status, Failure> {
        Ok(Status::Pending)
    }
}

pub(crate) trait Captured: Any + Send + Sync {}
pub(crate) trait Executable: Any + Send + Sync {}

#[derive(Default)]
pub(crate) struct Writing {
    pub log: Log,
    queues: AtomicUsize,
}

impl Driver for Writing {
    fn alive(&self, _doing: &str) -> Result<(), Error> {
        Ok(())
    }

    fn queue(&self, _want: Want) -> Result<Box<dyn Queue>, Error> {
        let number = self.queues.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(WritingQueue { number, log: Arc::clone(&self.log) }))
    }
}

struct WritingQueue {
    number: usize,
    log: Log,
}

/// An event by its number, which nobody reaches.
pub(crate) struct Number(pub usize);

impl Event for Number {
    fn number(&self) -> usize {
        self.0
    }
}

impl WritingQueue {
    fn write(&self, what: impl FnOnce(usize) -> What) -> usize {
        let mut log = self.log.lock().unwrap();
        let at = log.len();
        log.push(Call { queue: self.number, what: what(at) });
        at
    }
}

impl Queue for WritingQueue {
    fn work(&self, what: &'static str) -> Result<(), Error> {
        self.write(|_| What::Work(what));
        Ok(())
    }

    fn wait(&self, event: &dyn Event) -> Result<(), Error> {
        let event = event.number();
        self.write(|_| What::Wait(event));
        Ok(())
    }

    fn record(&self) -> Result<Arc<dyn Event>, Error> {
        // An event's number is its line.
        Ok(Arc::new(Number(self.write(What::Record))))
    }
}
