//! Fences of streams.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::capturing;
use crate::driver::Event;
use crate::error::Error;
use crate::reservation::{ContextId, Failure, Fence, Status, Waited};

/// The end of one piece of work of a stream.
///
/// Only a stream makes one, by giving work to its device. It is valid after its stream and even its
/// device are gone.
#[derive(Clone)]
pub struct StreamFence(Arc<Inner>);

struct Inner {
    context: ContextId,
    sequence: u64,
    label: Cow<'static, str>,
    point: Point,
    progress: Arc<Progress>,
}

/// Where a fence's work ends.
pub(crate) enum Point {
    At(Arc<dyn Event>),
    /// It has ended well, and no event was needed to see that.
    Ended,
    /// Nobody can say when it ends, because the device neither recorded its end nor let the host wait: so for all
    /// that is known it runs for ever, and what it uses is kept.
    Unknown(Failure),
}

impl Point {
    fn status(&self) -> Status {
        match self {
            Self::At(event) => event.status(),
            Self::Ended => Status::Done,
            Self::Unknown(_) => Status::Pending,
        }
    }

    fn poll(&self) -> Result<Status, Failure> {
        match self {
            Self::At(event) => event.poll(),
            Self::Ended => Ok(Status::Done),
            Self::Unknown(failure) => Err(failure.clone()),
        }
    }

    fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        match self {
            Self::At(event) => event.wait(deadline),
            Self::Ended | Self::Unknown(_) => self.poll(),
        }
    }
}

/// How far a stream is known to have come: what one of its fences was told, the earlier ones need not
/// ask for. It counts work that ended well; a stream of which something failed comes no further.
#[derive(Debug, Default)]
pub(crate) struct Progress(AtomicU64);

impl Progress {
    pub fn has_reached(&self, sequence: u64) -> bool {
        self.0.load(Ordering::Acquire) >= sequence
    }

    fn reaches(&self, sequence: u64) {
        self.0.fetch_max(sequence, Ordering::AcqRel);
    }
}

impl StreamFence {
    /// The caller holds the lock under which the point was recorded.
    pub(crate) fn new(
        context: ContextId,
        sequence: u64,
        label: Cow<'static, str>,
        point: Point,
        progress: Arc<Progress>,
    ) -> Self {
        Self(Arc::new(Inner { context, sequence, label, point, progress }))
    }

    /// The same status, remembered for the stream.
    fn told(&self, status: Status) -> Status {
        if status == Status::Done {
            self.0.progress.reaches(self.0.sequence);
        }
        status
    }

    /// The event to wait for; `None` if nothing can be waited for.
    pub(crate) fn event(&self) -> Option<&dyn Event> {
        match &self.0.point {
            Point::At(event) => Some(&**event),
            Point::Ended | Point::Unknown(_) => None,
        }
    }

    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.0.progress
    }

    /// Waits on the host until the work has ended.
    ///
    /// # Errors
    /// The work's failure, or that of earlier work that it depends on.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.synchronize_within(None).map(drop)
    }

    /// Waits on the host until the work has ended or time has run out. Zero only looks.
    pub fn synchronize_within(&self, timeout: Option<Duration>) -> Result<Waited, Error> {
        capturing::forbid(&format!("waiting for {self}"))?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        match self.wait(deadline).map_err(|failure| self.failed(failure))? {
            Status::Pending => Ok(Waited::TimedOut),
            Status::Done => Ok(Waited::Done),
            Status::Failed(failure) => Err(self.failed(failure)),
        }
    }

    /// The error of whoever waits for work that failed, or that the device does not speak of.
    pub(crate) fn failed(&self, failure: Failure) -> Error {
        Error::WorkFailed { what: self.to_string(), failure }
    }
}

impl Fence for StreamFence {
    fn context(&self) -> ContextId {
        self.0.context
    }

    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    fn status(&self) -> Status {
        if self.0.progress.has_reached(self.0.sequence) {
            return Status::Done;
        }
        self.told(self.0.point.status())
    }

    fn poll(&self) -> Result<Status, Failure> {
        match self.status() {
            Status::Pending => self.0.point.poll().map(|status| self.told(status)),
            ended => Ok(ended),
        }
    }

    fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        match self.status() {
            Status::Pending => self.0.point.wait(deadline).map(|status| self.told(status)),
            ended => Ok(ended),
        }
    }

    fn label(&self) -> &str {
        &self.0.label
    }
}

impl fmt::Display for StreamFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { context, sequence, label, .. } = &*self.0;
        write!(f, "`{label}` ({context} #{sequence})")
    }
}

impl fmt::Debug for StreamFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamFence({self}, {:?})", self.status())
    }
}
