//! Which earlier work must an operation wait for, before it touches a buffer?
//!
//! A [`Reservation`] answers that. It belongs to one resource and keeps a [`Fence`] for each piece of
//! work that was given to a device and touches the resource: who does it (a context: one stream of
//! one device), how far along that context's order it stands (a sequence number), and to what use.
//! The uses are levels, and who asks for one level sees it and all below:
//!
//! | work | adds a fence as | waits for |
//! |---|---|---|
//! | moves the memory | [`Kernel`](Usage::Kernel) | everything |
//! | writes | [`Write`](Usage::Write) | `Kernel`, `Write`, `Read` |
//! | reads | [`Read`](Usage::Read) | `Kernel`, `Write` |
//! | frees it | | everything |
//! | only keeps the memory where it is | [`Bookkeep`](Usage::Bookkeep) | `Kernel` |
//!
//! So two readers run at the same time whatever stream they are on, and a writer waits for *both*: the
//! levels are kept for each context, where a single "last read" would have forgotten the first. The
//! design is that of the reservation objects with which Linux orders the work of graphics devices.
//!
//! # Two locks
//! [`Reservation::lock`] is held while work is planned, given to the device and recorded, so that two
//! threads cannot each overlook the other's. What only looks ([`unlocked`](Reservation::unlocked),
//! [`wait`](Reservation::wait), [`test_signaled`](Reservation::test_signaled)) does not take it: a
//! second lock is held for single steps, and a list that was swapped between two of them is told
//! to the caller.
//!
//! # Failures stay
//! Work can fail. A fence that did leaves the list like any other, but if it was to write, the
//! reservation keeps the [`Failure`]: the contents are unknown until somebody overwrites them.
//!
//! Nothing here knows of devices: fences are a trait, and the module is tested with fences made by
//! hand.

mod acquire;
mod describe;
mod fence;
mod iterate;
mod lock;
mod merge;
mod plan;
mod slots;
mod usage;
mod wait;

use super::sync;

pub use acquire::{Acquired, Unknown, acquire};
pub use describe::Description;
pub use fence::{Asking, ContextId, Failure, Fence, Status};
pub use iterate::{Locked, Seen, Unlocked};
pub use lock::{
    AddError, Duplicate, Guard, HasSlots, NoSlots, Reservation, ReserveError, Slots, Unreserved,
    lock_many,
};
pub use merge::{Merged, merge};
pub use plan::WaitPlan;
pub use usage::{Access, Usage, Usages};
pub use wait::Waited;
