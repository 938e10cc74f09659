//! A reservation in words: who has it, and who would wait for whom.

use std::fmt;

use super::fence::{Failure, Fence, Status};
use super::lock::Reservation;
use super::merge::keep_latest;
use super::usage::{Access, Usage, Usages};

/// What [`Reservation::describe`] says.
#[derive(Clone, Debug)]
pub struct Description<F> {
    id: u64,
    fences: Vec<(F, Usage)>,
    failure: Option<Failure>,
}

impl<F: Fence> Reservation<F> {
    /// The fences, how far they are as far as is known, and what each access would wait for.
    pub fn describe(&self) -> Description<F> {
        let list = self.list();
        let fences = list.seen_by(Usages::all()).map(|slot| (slot.fence.clone(), slot.usage));
        Description { id: self.id(), fences: fences.collect(), failure: list.failure() }
    }
}

impl<F: Fence> fmt::Display for Description<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reservation {}", self.id)?;
        if self.fences.is_empty() {
            f.write_str(": no work")?;
        }
        for (fence, usage) in &self.fences {
            write!(f, "\n  {usage:<8} {}: ", Named(fence))?;
            match fence.status() {
                Status::Pending => f.write_str("pending")?,
                Status::Done => f.write_str("done")?,
                Status::Failed(failure) => write!(f, "failed: {failure}")?,
            }
        }
        if let Some(failure) = &self.failure {
            write!(f, "\n  the contents are unknown: {failure}")?;
        }
        for access in [Access::Read, Access::Write, Access::Move] {
            let mut waits = Vec::new();
            let query = access.waits_at().query();
            for (fence, usage) in &self.fences {
                if query.has(*usage) && fence.status() == Status::Pending {
                    keep_latest(&mut waits, fence);
                }
            }
            write!(f, "\n  to {access}: wait for ")?;
            self::list(f, &waits)?;
        }
        Ok(())
    }
}

/// A fence by stream, number and label.
struct Named<'f, F>(&'f F);

impl<F: Fence> fmt::Display for Named<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}", self.0.context(), self.0.sequence())?;
        match self.0.label() {
            "" => Ok(()),
            label => write!(f, " ({label})"),
        }
    }
}

/// Fences with commas between, or `nothing`.
pub(super) fn list<F: Fence>(f: &mut fmt::Formatter<'_>, fences: &[F]) -> fmt::Result {
    if fences.is_empty() {
        return f.write_str("nothing");
    }
    for (place, fence) in fences.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        write!(f, "{comma}{}", Named(fence))?;
    }
    Ok(())
}
