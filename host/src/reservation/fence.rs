//! Work that was given to a device, seen from where it ends.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Names one sequence of work whose pieces complete in order: one stream of one device.
///
/// Handles of streams are used again and may mean a different stream in each thread; these are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(u64);

impl ContextId {
    /// An id that no earlier call in this process returned.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.0)
    }
}

/// Why work failed, or why a device did not say how far it is.
///
/// Clones are the same failure, and only those are equal.
#[derive(Clone)]
pub struct Failure(Arc<dyn Error + Send + Sync>);

impl Failure {
    /// The failure that `reason` says.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(reason.into()))
    }

    /// The reason, to look for a type of error.
    pub fn reason(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Failure {}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// How far the work of a fence is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not known to have ended.
    Pending,
    /// It ended well.
    Done,
    /// It ended with a failure, which happened in it or in what it waited for.
    Failed(Failure),
}

impl Status {
    /// Whether the work has ended, well or not. A fence *signals* once, and does not go back.
    pub fn is_signaled(&self) -> bool {
        !matches!(self, Self::Pending)
    }

    /// Done, or the failure; `None` while it is pending.
    pub fn outcome(self) -> Option<Result<(), Failure>> {
        match self {
            Self::Pending => None,
            Self::Done => Some(Ok(())),
            Self::Failed(failure) => Some(Err(failure)),
        }
    }
}

/// A point in a context's order of work, behind one piece of it.
///
/// Clones are the same fence. Of two fences of one context, the one with the greater sequence number
/// signals no earlier.
pub trait Fence: Clone {
    /// Whose work it is.
    fn context(&self) -> ContextId;

    /// Where in that context's order.
    fn sequence(&self) -> u64;

    /// What is already known, without asking a device.
    fn status(&self) -> Status;

    /// Asks the device, if nothing final is known. An `Err` says that it did not answer: the work
    /// may still be running.
    fn poll(&self) -> Result<Status, Failure>;

    /// Blocks until the work has ended or the deadline has passed, and says what is known then.
    /// A deadline that has passed already makes it a [`poll`](Fence::poll).
    fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure>;

    /// What the work is, for people: the name of a kernel, or `copy`.
    fn label(&self) -> &str {
        ""
    }

    /// Whether it is the same fence, or one of the same context behind it.
    fn is_later_or_same(&self, other: &Self) -> bool {
        self.context() == other.context() && self.sequence() >= other.sequence()
    }
}

/// Whether a device may be asked how far a fence is.
///
/// Asking is an error while a stream's work is captured, and then only what is known already counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// The device is asked where that helps.
    Allowed,
    /// It is not.
    Forbidden,
}

impl Asking {
    /// The status; a device that does not answer leaves it pending.
    pub(super) fn status(self, fence: &impl Fence) -> Status {
        match (fence.status(), self) {
            (Status::Pending, Self::Allowed) => fence.poll().unwrap_or(Status::Pending),
            (known, _) => known,
        }
    }
}
