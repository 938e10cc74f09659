//! What an emulator and all that belongs to it have in common: a machine, and what it still has to do.
//!
//! Orders of work of several emulators wait for each other and copy between their machines, so whoever waits for one has
//! the work of the others done that it depends on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_emulator::{Machine, Options};

use super::streams::{Other, Outside, Step, Stepped, Streams};
use crate::capturing;
use crate::driver::ALIGNMENT;
use crate::error::Error;
use crate::options::EmulatorOptions;
use crate::reservation::Failure;

/// What the emulator is called.
pub(crate) const NAME: &str = "baton emulator";

/// What an emulator and its orders of work have in common.
pub(super) struct Shared(Mutex<State>);

pub(super) struct State {
    pub(super) machine: Machine,
    pub(super) streams: Streams,
}

/// An emulator as a device.
pub(crate) struct Emulator {
    pub(super) shared: Arc<Shared>,
    pub(super) arch: Option<String>,
}

impl Emulator {
    pub(crate) fn new(options: EmulatorOptions) -> Self {
        Self { shared: Arc::new(Shared::new(options.machine)), arch: options.arch }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // What is still to be done keeps the other emulators that it waits for, and they may keep this one.
        if self.shared.waits_for_others() {
            while self.shared.step() == Stepped::Did {}
        }
    }
}

/// How many pieces of work the emulators of this process have done.
static DONE: AtomicU64 = AtomicU64::new(0);

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        let streams = Streams::new(options.seed);
        Self(Mutex::new(State { machine: Machine::new(options), streams }))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic in another thread leaves bytes and allocations that are still well formed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn alloc(&self, bytes: usize) -> Result<u64, Error> {
        let room = self.state().machine.alloc((bytes as u64).max(1), ALIGNMENT);
        room.map_err(|error| Error::OutOfMemory {
            bytes: bytes as u64,
            device: NAME.into(),
            reason: error.to_string(),
        })
    }

    /// Whether some order waits for another emulator's.
    pub(super) fn waits_for_others(&self) -> bool {
        !self.state().streams.others().is_empty()
    }

    /// Does one piece of what was given; if nothing here can be done, one of what that waits for.
    pub(super) fn step(&self) -> Stepped {
        let before = DONE.load(Ordering::Acquire);
        match self.step_or_others(&mut Vec::new()) {
            // One emulator was looked at after the other, and another thread may have gone on meanwhile.
            Stepped::Nothing if DONE.load(Ordering::Acquire) != before => Stepped::Busy,
            stepped => stepped,
        }
    }

    fn step_here(&self) -> Stepped {
        let (outside, order) = {
            let mut state = self.state();
            let State { machine, streams } = &mut *state;
            match streams.step(machine) {
                Step::Nothing if streams.is_calling() => return Stepped::Busy,
                Step::Nothing => return Stepped::Nothing,
                Step::Done => {
                    DONE.fetch_add(1, Ordering::AcqRel);
                    return Stepped::Did;
                }
                Step::Outside(outside, order) => (outside, order),
            }
        };
        // It may look at buffers, or at another machine, so this one is not locked; nobody else does the next piece of its
        // order.
        let ended = match outside {
            Outside::Callback(callback) => {
                capturing::in_callback(callback);
                Ok(())
            }
            Outside::Unwanted(callback) => {
                capturing::in_callback(move || drop(callback));
                Ok(())
            }
            Outside::Between(copy) => copy.run(self).map_err(Failure::new),
        };
        self.state().streams.returned(order, ended);
        DONE.fetch_add(1, Ordering::AcqRel);
        Stepped::Did
    }
}

impl Other for Shared {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), baton_emulator::Error> {
        self.state().machine.read(address, bytes)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), baton_emulator::Error> {
        self.state().machine.write(address, bytes)
    }

    fn step_or_others(&self, asked: &mut Vec<*const ()>) -> Stepped {
        let here: *const Self = self;
        if asked.contains(&here.cast()) {
            return Stepped::Nothing;
        }
        asked.push(here.cast());
        let mut stepped = self.step_here();
        if stepped == Stepped::Did {
            return stepped;
        }
        let others = self.state().streams.others();
        for other in others {
            match other.step_or_others(asked) {
                Stepped::Did => return Stepped::Did,
                Stepped::Busy => stepped = Stepped::Busy,
                Stepped::Nothing => {}
            }
        }
        stepped
    }
}
