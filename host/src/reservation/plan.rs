//! The waits that a stream needs before it touches some resources, and no others.

use std::fmt;

use super::fence::{ContextId, Fence, Status};
use super::lock::Guard;
use super::merge::keep_latest;
use super::usage::Access;

/// What a context must wait for: at most one fence of each other context, its latest.
///
/// A context is in order with itself, so its own fences are never among them. Neither are fences that
/// are known to have signalled; the device is not asked, because an answer costs what a wait does.
#[derive(Clone, Debug)]
pub struct WaitPlan<F> {
    context: ContextId,
    waits: Vec<F>,
}

impl<F: Fence> WaitPlan<F> {
    /// A plan for that context, without waits.
    pub fn new(context: ContextId) -> Self {
        Self { context, waits: Vec::new() }
    }

    /// Adds what an access to this resource must wait for.
    ///
    /// The lock is to be held from here until the fence of the access has been added: what another
    /// thread added in between would be missed.
    pub fn require<S>(&mut self, resource: &Guard<'_, F, S>, access: Access) {
        for slot in resource.reservation().list().seen_by(access.waits_at().query()) {
            if slot.fence.context() != self.context && slot.fence.status() == Status::Pending {
                keep_latest(&mut self.waits, &slot.fence);
            }
        }
    }

    /// The context that waits.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// What for.
    pub fn waits(&self) -> &[F] {
        &self.waits
    }
}

impl<F: Fence> fmt::Display for WaitPlan<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waits for ", self.context)?;
        super::describe::list(f, &self.waits)
    }
}
