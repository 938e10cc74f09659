//! What launches leave behind beside what they have computed.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baton_emulator::Hazard;
use baton_emulator::trace::Trace;

/// What a finished launch says of itself.
#[derive(Debug)]
#[must_use = "its hazards are what the emulator found wrong: look at them, or `drop` the report, which prints them"]
#[non_exhaustive]
pub struct LaunchReport {
    /// From start to end: on a GPU by its own clock, on the emulator by the host's.
    pub elapsed: Duration,
    /// Instructions that all threads executed, on the emulator.
    pub instructions: Option<u64>,
    /// What the kernel printed, on the emulator. (A GPU's driver writes it to standard output
    /// itself; the emulator's has been written there too.)
    pub output: String,
    /// What the emulator found suspicious without ending the launch.
    pub hazards: Hazards,
    /// What ran when, on an emulator that records it.
    pub trace: Option<Box<Trace>>,
}

/// What the kernels of a stream left behind, on the emulator. A GPU's do not say.
#[derive(Debug, Default)]
#[must_use = "its hazards are what the emulator found wrong: look at them, or `drop` the report, which prints them"]
#[non_exhaustive]
pub struct StreamReport {
    /// Instructions that all threads executed.
    pub instructions: Option<u64>,
    /// What the kernels printed. It has been written to standard output too.
    pub output: String,
    /// Uses of memory that the memory model does not order, within a kernel.
    pub hazards: Hazards,
}

#[cfg(feature = "emulator")]
impl StreamReport {
    pub(crate) fn add(&mut self, other: Self) {
        if let Some(instructions) = other.instructions {
            *self.instructions.get_or_insert(0) += instructions;
        }
        self.output.push_str(&other.output);
        self.hazards.list.extend(other.hazards.into_vec());
    }
}

/// What the emulator found suspicious. Whoever looks at the list has taken note; a list that is dropped without
/// that is printed to standard error, so that no hazard is lost with a report.
///
/// It reads as a slice.
#[derive(Default)]
#[must_use = "they are what the emulator found wrong: look at them, or `drop` them, which prints them"]
pub struct Hazards {
    list: Vec<Hazard>,
    seen: AtomicBool,
}

impl Hazards {
    /// The list itself.
    pub fn into_vec(mut self) -> Vec<Hazard> {
        std::mem::take(&mut self.list)
    }
}

impl From<Vec<Hazard>> for Hazards {
    fn from(list: Vec<Hazard>) -> Self {
        Self { list, seen: AtomicBool::new(false) }
    }
}

impl Deref for Hazards {
    type Target = [Hazard];

    fn deref(&self) -> &[Hazard] {
        self.seen.store(true, Ordering::Relaxed);
        &self.list
    }
}

impl<'a> IntoIterator for &'a Hazards {
    type Item = &'a Hazard;
    type IntoIter = std::slice::Iter<'a, Hazard>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Hazards {
    type Item = Hazard;
    type IntoIter = std::vec::IntoIter<Hazard>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl fmt::Debug for Hazards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}

impl Drop for Hazards {
    fn drop(&mut self) {
        if !*self.seen.get_mut() {
            self.list.iter().for_each(|hazard| eprintln!("{hazard}"));
        }
    }
}
