//! What a device is to the rest of the library: memory, orders of work, places in them, code, and an
//! encoder of tensor maps.
//!
//! Two implementations stand behind the traits, [`gpu`] and [`emulator`], and neither knows who uses it.
//! Everything here returns before the work is done, except what says that it waits.

#[cfg(feature = "emulator")]
pub(crate) mod emulator;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use baton::launch::{Call, EncodedTensorMap};
use baton_emulator::tensor_map::TensorMapDesc;

use crate::error::Error;
use crate::grid::{Grid, Limits, Occupancy};
use crate::image::{Binary, Image};
use crate::report::{LaunchReport, StreamReport};
use crate::reservation::{Failure, Status};

/// What every allocation is aligned to: what a driver promises, and enough for a tensor.
pub(crate) const ALIGNMENT: u64 = 256;

/// A device.
pub(crate) trait Driver: Any + Send + Sync {
    fn name(&self) -> &str;
    /// What only a GPU has.
    fn as_gpu(&self) -> Option<GpuFacts>;
    /// An error if the device is known to be lost.
    fn alive(&self, doing: &str) -> Result<(), Error>;

    /// What it can launch of code for this target, and what to call it in an error.
    fn limits(&self, arch: &str) -> (Limits, String);
    /// The most CTAs of a grid that wait for each other, where no driver refuses what does not fit.
    fn most_co_resident(&self) -> Option<u64>;
    /// Loads what fits best.
    fn load(&self, image: &Image) -> Result<(&'static Binary, Arc<dyn Code>), Error>;

    fn queue(&self, want: Want) -> Result<Box<dyn Queue>, Error>;
    /// The order of a stream that somebody else owns.
    ///
    /// # Safety
    /// It is one of this device's, and lives longer than the result.
    unsafe fn foreign_queue(&self, _raw: *mut c_void) -> Result<Box<dyn Queue>, Error> {
        Err(Error::Unsupported { what: "a stream of another library", device: self.name().into() })
    }
    /// Whether [`Queue::free`] takes what [`Queue::alloc`] gave. If not, [`Driver::free`] does.
    fn frees_in_order(&self) -> bool;
    /// Gives memory back that nothing uses any more.
    fn free(&self, address: u64);

    /// Host memory that copies read and write while the host goes on.
    fn alloc_host(&self, bytes: usize) -> Result<HostAddress, Error>;
    /// Gives it back. Nothing uses it any more, and it has that many bytes.
    fn free_host(&self, host: HostAddress, bytes: usize);

    /// Memory that the device reaches by the one address and the host by the other; no streams' copies are needed between
    /// the two.
    fn alloc_managed(&self, bytes: usize) -> Result<(u64, HostAddress), Error>;
    /// Gives it back. Nothing uses it any more, and it has that many bytes.
    fn free_managed(&self, address: u64, host: HostAddress, bytes: usize);
    /// What the device has written there is what the host finds from here on. No work uses it.
    fn host_sees(&self, _address: u64, _host: HostAddress, _bytes: usize) {}
    /// What the host has written there is what the device finds from here on. No work uses it.
    fn device_sees(&self, _address: u64, _host: HostAddress, _bytes: usize) {}

    fn encode(&self, map: &TensorMapDesc) -> Result<EncodedTensorMap, String>;
    /// Seeds the schedule of what is launched next, where there is one.
    fn set_seed(&self, _seed: u64) {}
    fn set_wait_policy(&self, policy: WaitPolicy);
}

/// What only a GPU has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuFacts {
    pub index: usize,
    pub compute_capability: (u32, u32),
}

/// How the host waits for a GPU. The emulator does the work itself while somebody waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Sleep until the device says that it is done: no time is lost for other threads, and some microseconds until
    /// this one goes on.
    #[default]
    Block,
    /// Ask again and again, and let other threads of this core go first.
    Yield,
    /// Ask again and again: the soonest to go on, and a core's whole time.
    Spin,
}

/// Which order of work is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Want {
    /// Greater goes first, 0 is usual; a device that has no such priority takes its nearest.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "an emulator's seed chooses"))]
    pub priority: i32,
    /// A piece of work that fails does not keep those behind it from being done: each piece is of another owner.
    pub isolated: bool,
}

/// Code that was loaded on a device.
pub(crate) trait Code: Any + Send + Sync {
    /// Whether it is machine code that was made when the image was built.
    fn is_cubin(&self) -> bool;
    /// Whether it is run by an emulator.
    fn is_emulated(&self) -> bool;
    /// Looks up a kernel, with all that a launch needs to know of it.
    fn kernel(&self, name: &'static str) -> Result<Arc<dyn Kernel>, Error>;
}

/// A kernel that has been looked up.
pub(crate) trait Kernel: Any + Send + Sync {
    /// Compares what was compiled with a call, and prepares the kernel for its launch.
    fn check(&self, call: &Call<'_>) -> Result<(), Error>;
    /// How much of it runs at the same time. The call was checked.
    fn occupancy(&self, call: &Call<'_>) -> Result<Occupancy, Error>;
}

/// One order of work. Callers hold its lock, and see to it that memory stays allocated until the work on it has
/// ended.
pub(crate) trait Queue: Any + Send + Sync {
    /// Prepares this thread for a number of calls, until what is returned is dropped.
    fn enter(&self) -> Result<Entered, Error> {
        Ok(Entered(None))
    }

    fn launch(&self, kernel: &dyn Kernel, grid: Grid, call: &Call<'_>) -> Result<(), Error>;
    /// The same, with a report for when it has ended.
    fn launch_reported(
        &self,
        kernel: &dyn Kernel,
        grid: Grid,
        call: &Call<'_>,
    ) -> Result<Box<dyn Report>, Error>;
    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), Error>;
    fn copy_rows(&self, rows: Rows) -> Result<(), Error>;
    /// Copies from one device's memory to another's, both of this kind; one of them is this order's own.
    fn copy_between(
        &self,
        from: (&dyn Driver, u64),
        to: (&dyn Driver, u64),
        bytes: usize,
    ) -> Result<(), Error>;
    fn upload(&self, from: HostAddress, to: u64, bytes: usize) -> Result<(), Error>;
    fn download(&self, from: u64, to: HostAddress, bytes: usize) -> Result<(), Error>;
    fn fill(&self, address: u64, bytes: usize, byte: u8) -> Result<(), Error>;
    fn alloc(&self, bytes: usize) -> Result<u64, Error>;
    fn free(&self, address: u64) -> Result<(), Error>;
    fn callback(&self, callback: Box<dyn FnOnce() + Send>) -> Result<(), Error>;

    /// The driver's handle.
    fn raw(&self) -> Option<*mut c_void> {
        None
    }
    /// What follows waits for an event that somebody else owns.
    ///
    /// # Safety
    /// It is an event of the driver's that has not been destroyed.
    unsafe fn wait_foreign(&self, _event: *mut c_void) -> Result<(), Error> {
        Err(Error::ForeignFence)
    }
    /// What follows waits for this event of another order. If that was recorded in a capture, this order joins it until
    /// it ends.
    fn wait(&self, event: &dyn Event) -> Result<(), Error>;
    /// The event behind everything so far.
    fn record(&self) -> Result<Arc<dyn Event>, Error>;
    /// Waits on the host for everything so far, where no event can say when that has ended.
    fn drain(&self) -> Result<(), Error>;
    /// Takes the reports that have gathered.
    fn reports(&self) -> StreamReport;

    /// What follows is put down and not done.
    fn begin_capture(&self) -> Result<(), Error>;
    /// What was put down, by all orders that have joined. They have left the capture when this returns, whatever it
    /// says.
    fn end_capture(&self) -> Result<Box<dyn Captured>, Error>;
    /// Whether it is captured still, after an end that was refused. What cannot be asked counts as a yes.
    fn is_captured(&self) -> bool {
        false
    }
    /// What was captured, so that it can be launched.
    fn executable(&self, captured: &dyn Captured) -> Result<Box<dyn Executable>, Error>;
    /// Puts what was captured in the place of what was launched so far; `false` if it has another shape.
    fn update(
        &self,
        executable: &mut dyn Executable,
        captured: &dyn Captured,
    ) -> Result<bool, Error>;
    fn launch_graph(&self, graph: &dyn Executable) -> Result<(), Error>;
    /// Prepares the device for launches of the graph.
    fn upload_graph(&self, graph: &dyn Executable) -> Result<(), Error>;
}

/// A thread that is prepared for calls. Dropped, it is as it was.
#[must_use = "the calls are made before it is dropped"]
pub(crate) struct Entered(Option<Leave>);

/// What to do at the end, and with what; not a closure, because it is made for every piece of work.
type Leave = (fn([usize; 2]), [usize; 2]);

impl Entered {
    #[cfg_attr(
        not(feature = "gpu"),
        expect(dead_code, reason = "the emulator needs no preparation")
    )]
    pub fn new(leave: fn([usize; 2]), with: [usize; 2]) -> Self {
        Self(Some((leave, with)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some((leave, with)) = self.0.take() {
            leave(with);
        }
    }
}

/// Rows of memory that are copied, each with a distance of its own on both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub from: u64,
    pub from_pitch: usize,
    pub to: u64,
    pub to_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// A place in an order of work.
pub(crate) trait Event: Any + Send + Sync {
    /// What is already known.
    fn status(&self) -> Status;
    /// Asks the device; an error says that it did not answer.
    fn poll(&self) -> Result<Status, Failure>;
    /// Blocks until the place has been reached, or the deadline has passed.
    fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure>;
}

/// What a launch will have left behind when its fence has signalled.
pub(crate) trait Report {
    fn take(self: Box<Self>) -> Result<LaunchReport, Error>;
}

/// Work that was captured.
pub(crate) trait Captured: Any + Send + Sync {}

/// Captured work, ready to be launched.
pub(crate) trait Executable: Any + Send + Sync {}

/// Host memory that copies read or write while the host goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostAddress(pub *mut u8);

// SAFETY: the address alone does nothing; who follows it answers for that.
unsafe impl Send for HostAddress {}
// SAFETY: as above.
unsafe impl Sync for HostAddress {}

/// This implementation's own type behind one of the traits; the error of a caller that mixes devices.
pub(crate) fn own<T: 'static>(what: &dyn Any) -> Result<&T, Error> {
    what.downcast_ref().ok_or(Error::ForeignFence)
}

/// The same, to change.
pub(crate) fn own_mut<T: 'static>(what: &mut dyn Any) -> Result<&mut T, Error> {
    what.downcast_mut().ok_or(Error::ForeignFence)
}
