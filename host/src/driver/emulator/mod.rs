//! The emulator as a device.
//!
//! Every emulator has an arena of its own for global memory and a seed for the order in which its
//! threads and asynchronous operations take their steps; the same seed and the same launch give the
//! same run. What its orders of work were given is done when somebody waits for it, on the thread that
//! waits (see `streams`).

mod code;
mod device;
mod queue;
mod shared;
mod streams;

pub(crate) use shared::{Emulator, NAME};
