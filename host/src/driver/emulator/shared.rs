//! What an emulator and all that belongs to it have in common: a machine, and what it still has to do.

use std::sync::{Mutex, MutexGuard, PoisonError};

use baton_emulator::{Machine, Options};

use super::streams::{Step, Streams};
use crate::capturing;

/// What an emulator and its orders of work have in common.
pub(super) struct Shared(Mutex<State>);

pub(super) struct State {
    pub(super) machine: Machine,
    pub(super) streams: Streams,
}

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        let streams = Streams::new(options.seed);
        Self(Mutex::new(State { machine: Machine::new(options), streams }))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic in another thread leaves bytes and allocations that are still well formed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one piece of what was given; `false` if nothing can be done.
    pub(super) fn step(&self) -> bool {
        let callback = {
            let mut state = self.state();
            let State { machine, streams } = &mut *state;
            match streams.step(machine) {
                Step::Nothing => return false,
                Step::Done => None,
                Step::Callback(callback) => Some(callback),
            }
        };
        // It may look at buffers, so the emulator is not locked; nobody else does the next piece of its order.
        if let Some((callback, order)) = callback {
            capturing::in_callback(callback);
            self.state().streams.called(order);
        }
        true
    }
}
