//! One fence for many: what signals when all of them have.

use std::time::Instant;

use super::fence::{Failure, Fence, Status};

/// A fence, or several of different contexts that are taken together.
///
/// Several signal when the last of them does; they have failed if one of them has, with the failure
/// of the first that has. Several cannot be added to a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged<F> {
    /// A fence.
    One(F),
    /// More than one, each of another context.
    All(Vec<F>),
}

impl<F> From<F> for Merged<F> {
    fn from(fence: F) -> Self {
        Self::One(fence)
    }
}

impl<F: Fence> Merged<F> {
    /// The fences that it stands for.
    pub fn parts(&self) -> &[F] {
        match self {
            Self::One(fence) => std::slice::from_ref(fence),
            Self::All(fences) => fences,
        }
    }

    /// What is known of all together.
    pub fn status(&self) -> Status {
        together(self.parts().iter().map(Fence::status))
    }

    /// Asks the device. See [`Fence::poll`].
    pub fn poll(&self) -> Result<Status, Failure> {
        let statuses: Result<Vec<_>, _> = self.parts().iter().map(Fence::poll).collect();
        Ok(together(statuses?.into_iter()))
    }

    /// Blocks until all have ended. See [`Fence::wait`].
    pub fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        let statuses: Result<Vec<_>, _> =
            self.parts().iter().map(|fence| fence.wait(deadline)).collect();
        Ok(together(statuses?.into_iter()))
    }
}

fn together(statuses: impl Iterator<Item = Status>) -> Status {
    let mut all = Status::Done;
    for status in statuses {
        match status {
            Status::Pending => return Status::Pending,
            Status::Failed(_) if all == Status::Done => all = status,
            _ => {}
        }
    }
    all
}

/// The fence that signals after all of `fences`, taken apart first: the latest of each context. `None`
/// if none of them is pending or has failed.
pub fn merge<F: Fence>(fences: impl IntoIterator<Item = Merged<F>>) -> Option<Merged<F>> {
    let mut latest: Vec<F> = Vec::new();
    for fence in fences {
        for part in fence.parts() {
            if part.status() != Status::Done {
                keep_latest(&mut latest, part);
            }
        }
    }
    match latest.len() {
        0 => None,
        1 => latest.pop().map(Merged::One),
        _ => Some(Merged::All(latest)),
    }
}

/// Adds a fence to a list of the latest of each context.
pub(super) fn keep_latest<F: Fence>(latest: &mut Vec<F>, fence: &F) {
    match latest.iter_mut().find(|known| known.context() == fence.context()) {
        Some(known) if fence.is_later_or_same(known) => *known = fence.clone(),
        Some(_) => {}
        None => latest.push(fence.clone()),
    }
}
