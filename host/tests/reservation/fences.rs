//! Fences that a test signals by hand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use super::reservation::{ContextId, Failure, Fence, Status};

/// A context whose fences are signalled by hand.
pub struct Timeline {
    pub context: ContextId,
    next: AtomicUsize,
}

impl Timeline {
    pub fn new() -> Self {
        Self { context: ContextId::unique(), next: AtomicUsize::new(1) }
    }

    /// The next fence of the context.
    pub fn fence(&self) -> Manual {
        self.fence_at(self.next.fetch_add(1, Ordering::Relaxed) as u64)
    }

    pub fn fence_at(&self, sequence: u64) -> Manual {
        Manual(Arc::new(State {
            context: self.context,
            sequence,
            status: Mutex::new(Status::Pending),
            signaled: Condvar::new(),
            unanswered: Mutex::new(None),
            polls: AtomicUsize::new(0),
        }))
    }
}

#[derive(Clone)]
pub struct Manual(Arc<State>);

struct State {
    context: ContextId,
    sequence: u64,
    status: Mutex<Status>,
    signaled: Condvar,
    /// What the device says instead of a status.
    unanswered: Mutex<Option<Failure>>,
    polls: AtomicUsize,
}

impl Manual {
    /// Ends the work; `false` if it had ended already.
    pub fn end(&self, how: Status) -> bool {
        let mut status = self.0.status.lock().unwrap();
        let first = *status == Status::Pending;
        if first {
            *status = how;
            self.0.signaled.notify_all();
        }
        first
    }

    pub fn signal(&self) -> bool {
        self.end(Status::Done)
    }

    pub fn fail(&self, reason: &str) -> Failure {
        let failure = Failure::new(reason);
        assert!(self.end(Status::Failed(failure.clone())));
        failure
    }

    pub fn do_not_answer(&self, reason: &str) -> Failure {
        let failure = Failure::new(reason);
        *self.0.unanswered.lock().unwrap() = Some(failure.clone());
        failure
    }

    /// How often the device was asked.
    pub fn polls(&self) -> usize {
        self.0.polls.load(Ordering::Relaxed)
    }

    /// How many hold it.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

impl Fence for Manual {
    fn context(&self) -> ContextId {
        self.0.context
    }

    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    fn status(&self) -> Status {
        self.0.status.lock().unwrap().clone()
    }

    fn poll(&self) -> Result<Status, Failure> {
        self.0.polls.fetch_add(1, Ordering::Relaxed);
        match &*self.0.unanswered.lock().unwrap() {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.status()),
        }
    }

    fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        loop {
            let known = self.poll()?;
            let status = self.0.status.lock().unwrap();
            if known.is_signaled() || status.is_signaled() {
                return Ok(status.clone());
            }
            match deadline {
                None => drop(self.0.signaled.wait(status).unwrap()),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(Status::Pending);
                    }
                    drop(self.0.signaled.wait_timeout(status, left).unwrap());
                }
            }
        }
    }
}

impl PartialEq for Manual {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Manual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} #{} {:?}", self.context(), self.sequence(), self.status())
    }
}
