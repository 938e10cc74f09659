//! What both devices do for a stream: take work in order, and say where it ends.

use std::sync::Arc;
use std::time::Instant;

use baton::launch::Call;
use baton_emulator::Hazard;

use crate::Error;
use crate::emulator::{Completion, Recording};
use crate::gpu::{Event, GpuGraph};
use crate::launch::Grid;
use crate::module::Loaded;
use crate::reservation::{Failure, Status};

/// The order of work of one stream. Everything here returns before the work is done, except
/// [`synchronize`](Queue::synchronize).
///
/// Callers hold the stream's lock, and see to it that memory stays allocated until the work on it has
/// ended.
pub(crate) trait Queue: Send + Sync {
    fn launch(&self, module: &Arc<Loaded>, grid: Grid, call: &Call<'_>) -> Result<(), Error>;
    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), Error>;
    fn upload(&self, from: HostAddress, to: u64, bytes: usize) -> Result<(), Error>;
    fn download(&self, from: u64, to: HostAddress, bytes: usize) -> Result<(), Error>;
    fn fill(&self, address: u64, bytes: usize, byte: u8) -> Result<(), Error>;
    fn alloc(&self, bytes: usize) -> Result<u64, Error>;
    fn free(&self, address: u64) -> Result<(), Error>;

    /// What follows waits for this point of another stream.
    fn wait(&self, point: &Point) -> Result<(), Error>;
    /// The point behind everything so far.
    fn record(&self) -> Result<Point, Error>;
    /// Waits on the host, and takes the reports that have gathered.
    fn synchronize(&self) -> Result<Reports, Error>;

    /// What follows is put down and not done.
    fn begin_capture(&self) -> Result<(), Error>;
    /// What was put down.
    fn end_capture(&self) -> Result<Graph, Error>;
    fn launch_graph(&self, graph: &Graph) -> Result<(), Error>;
}

/// A point in a stream's order, that one can wait for.
pub(crate) enum Point {
    Gpu(Event),
    Emulator(Completion),
    /// Nothing can be waited for, because it is known how the work ended.
    Ended(Result<(), Failure>),
}

impl Point {
    pub fn status(&self) -> Status {
        match self {
            Self::Gpu(event) => event.status(),
            Self::Emulator(completion) => completion.status(),
            Self::Ended(Ok(())) => Status::Done,
            Self::Ended(Err(failure)) => Status::Failed(failure.clone()),
        }
    }

    pub fn poll(&self) -> Result<Status, Failure> {
        match self {
            Self::Gpu(event) => event.poll(),
            Self::Emulator(_) | Self::Ended(_) => Ok(self.status()),
        }
    }

    pub fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        match self {
            Self::Gpu(event) => event.wait(deadline),
            Self::Emulator(completion) => completion.wait(deadline),
            Self::Ended(_) => Ok(self.status()),
        }
    }
}

/// Work that was captured.
pub(crate) enum Graph {
    Gpu(GpuGraph),
    Emulator(Recording),
}

/// Page-locked host memory that a stream reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostAddress(pub *mut u8);

// SAFETY: the address alone does nothing; who follows it answers for that.
unsafe impl Send for HostAddress {}
// SAFETY: as above.
unsafe impl Sync for HostAddress {}

/// What the kernels of a stream have left behind, on the emulator.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub instructions: Option<u64>,
    pub output: String,
    pub hazards: Vec<Hazard>,
}
