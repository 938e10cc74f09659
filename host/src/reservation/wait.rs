//! Waiting on the host.

use std::time::{Duration, Instant};

use super::fence::{Failure, Fence, Status};
use super::lock::Reservation;
use super::merge::{Merged, merge};
use super::usage::{Usage, Usages};

/// How a wait on the host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a wait that ran out of time has seen nothing end"]
pub enum Waited {
    /// Everything that was waited for has ended.
    Done,
    /// Time ran out first.
    TimedOut,
}

impl<F: Fence> Reservation<F> {
    /// One fence that signals after all that a query sees; `None` if all have.
    pub fn singleton(&self, query: impl Into<Usages>) -> Option<Merged<F>> {
        let list = self.list();
        merge(list.seen_by(query.into()).map(|slot| Merged::One(slot.fence.clone())))
    }

    /// Waits until all fences have signalled that a query sees now.
    ///
    /// `timeout` is one budget for all of them; zero only looks, and `None` waits as long as it takes.
    /// The lock is not taken, and work that is added meanwhile is not waited for.
    ///
    /// # Errors
    /// The first failure among them, or of a writer that has left the list; or what a device said
    /// instead of how far a fence is.
    pub fn wait(
        &self,
        query: impl Into<Usages>,
        timeout: Option<Duration>,
    ) -> Result<Waited, Failure> {
        let query = query.into();
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let (fences, failure) = {
            let list = self.list();
            let fences: Vec<F> = list
                .seen_by(query)
                .filter(|slot| slot.fence.status() != Status::Done)
                .map(|slot| slot.fence.clone())
                .collect();
            (fences, list.failure().filter(|_| query.has(Usage::Write)))
        };
        if let Some(failure) = failure {
            return Err(failure);
        }
        for fence in fences {
            match fence.wait(deadline)? {
                Status::Done => {}
                Status::Failed(failure) => return Err(failure),
                Status::Pending => return Ok(Waited::TimedOut),
            }
        }
        Ok(Waited::Done)
    }

    /// Whether all fences that a query sees have signalled. Work that failed has.
    ///
    /// # Errors
    /// What a device said instead of how far a fence is.
    pub fn test_signaled(&self, query: impl Into<Usages>) -> Result<bool, Failure> {
        for slot in self.list().seen_by(query.into()) {
            if slot.fence.poll()? == Status::Pending {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
