//! An order of work of an emulator, and the places in it.

use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use baton::launch::Call;

use super::code::{EmulatedKernel, description};
use super::shared::Shared;
use super::streams::{Callback, Cell, Entries, Entry, Piece, Place, Put, Slot, Work};
use crate::driver::{
    ALIGNMENT, Captured, Event, Executable, HostAddress, Kernel, Queue, Report, Rows, Want, own,
    own_mut,
};
use crate::error::Error;
use crate::grid::Grid;
use crate::report::{LaunchReport, StreamReport};
use crate::reservation::{Failure, Status};

/// What the emulator is called.
pub(crate) const NAME: &str = "baton emulator";

/// An order of work of an emulator.
pub(super) struct EmulatorQueue {
    shared: Arc<Shared>,
    id: u64,
}

/// Where a fence of the emulator will be signalled.
struct Completion {
    cell: Arc<Cell>,
    shared: Arc<Shared>,
    /// Where in which capture it is, if it is in one, and then it is never signalled.
    captured: Option<(u64, Place)>,
}

impl Event for Completion {
    fn status(&self) -> Status {
        match self.cell.get() {
            None => Status::Pending,
            Some(Ok(())) => Status::Done,
            Some(Err(failure)) => Status::Failed(failure.clone()),
        }
    }

    fn poll(&self) -> Result<Status, Failure> {
        Ok(self.status())
    }

    /// Does work, of any stream, until this is done. A deadline that has passed lets it do one piece:
    /// a program that only looks now and then must see an end too.
    fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        loop {
            let status = self.status();
            if status.is_signaled() {
                return Ok(status);
            }
            let stepped = self.shared.step();
            let status = self.status();
            if status.is_signaled() || deadline.is_some_and(|at| at <= Instant::now()) {
                return Ok(status);
            }
            if !stepped {
                // Another thread may be doing the piece that this waits for.
                if self.shared.state().streams.is_calling() {
                    std::thread::yield_now();
                    continue;
                }
                return Err(Failure::new("the emulator has no work left that could signal this"));
            }
        }
    }
}

/// The report of a launch that was waited for.
struct EmulatorReport(Arc<Slot>);

impl Report for EmulatorReport {
    fn take(self: Box<Self>) -> Result<LaunchReport, Error> {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match ended {
            Some(ended) => Ok(ended?),
            None => Err(Error::Driver {
                doing: "launching a kernel on the emulator".into(),
                reason: "it has not been run".into(),
            }),
        }
    }
}

impl EmulatorQueue {
    pub(super) fn new(shared: Arc<Shared>, want: Want) -> Self {
        let id = shared.state().streams.open(want);
        Self { shared, id }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Entries) -> T) -> T {
        let mut state = self.shared.state();
        // It is removed only when this value is dropped.
        act(state.streams.queues.entry(self.id).or_default())
    }

    fn push(&self, work: Work) -> Result<(), Error> {
        self.with(|entries| match &mut entries.capture {
            Some(put) => put.pieces.push(Piece::Work(work)),
            None => entries.waiting.push_back(Entry::Work(work)),
        });
        Ok(())
    }

    fn push_launch(
        &self,
        kernel: &dyn Kernel,
        grid: Grid,
        call: &Call<'_>,
        slot: Option<Arc<Slot>>,
    ) -> Result<(), Error> {
        let EmulatedKernel(program) = own(kernel)?;
        let launch = Box::new(description(grid, call));
        self.push(Work::Launch(Arc::clone(program), launch, slot))
    }
}

impl Queue for EmulatorQueue {
    fn launch(&self, kernel: &dyn Kernel, grid: Grid, call: &Call<'_>) -> Result<(), Error> {
        self.push_launch(kernel, grid, call, None)
    }

    fn launch_reported(
        &self,
        kernel: &dyn Kernel,
        grid: Grid,
        call: &Call<'_>,
    ) -> Result<Box<dyn Report>, Error> {
        let slot = Arc::new(Slot::default());
        self.push_launch(kernel, grid, call, Some(Arc::clone(&slot)))?;
        Ok(Box::new(EmulatorReport(slot)))
    }

    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), Error> {
        let (pitch, height) = (bytes, 1);
        self.copy_rows(Rows { from, from_pitch: pitch, to, to_pitch: pitch, width: bytes, height })
    }

    fn copy_rows(&self, rows: Rows) -> Result<(), Error> {
        self.push(Work::Copy(rows))
    }

    fn upload(&self, from: HostAddress, to: u64, bytes: usize) -> Result<(), Error> {
        self.push(Work::Upload { from, to, bytes })
    }

    fn download(&self, from: u64, to: HostAddress, bytes: usize) -> Result<(), Error> {
        self.push(Work::Download { from, to, bytes })
    }

    fn fill(&self, address: u64, bytes: usize, byte: u8) -> Result<(), Error> {
        self.push(Work::Fill { address, bytes, byte })
    }

    fn alloc(&self, bytes: usize) -> Result<u64, Error> {
        let room = self.shared.state().machine.alloc((bytes as u64).max(1), ALIGNMENT);
        room.map_err(|error| Error::OutOfMemory {
            bytes: bytes as u64,
            device: NAME.into(),
            reason: error.to_string(),
        })
    }

    fn free(&self, address: u64) -> Result<(), Error> {
        self.push(Work::Free(address))
    }

    fn callback(&self, callback: Callback) -> Result<(), Error> {
        self.with(|entries| entries.waiting.push_back(Entry::Callback(callback)));
        Ok(())
    }

    fn wait(&self, event: &dyn Event) -> Result<(), Error> {
        let completion: &Completion = own(event)?;
        if !Arc::ptr_eq(&completion.shared, &self.shared) {
            return Err(Error::ForeignFence);
        }
        let cell = Arc::clone(&completion.cell);
        self.with(|entries| match (completion.captured, &mut entries.capture) {
            (None, None) => {
                entries.waiting.push_back(Entry::Wait(cell));
                Ok(())
            }
            (Some((of, place)), capture @ None) => {
                *capture = Some(Put { of, pieces: vec![Piece::Behind(place)] });
                Ok(())
            }
            (Some((of, place)), Some(put)) if put.of == of => {
                put.pieces.push(Piece::Behind(place));
                Ok(())
            }
            // What is captured waits for what is captured with it, as on a GPU.
            (_, Some(_)) => Err(Error::ForeignFence),
        })
    }

    fn record(&self) -> Result<Arc<dyn Event>, Error> {
        let cell = Arc::new(Cell::new());
        let order = self.id;
        let captured = self.with(|entries| match &entries.capture {
            Some(put) => Some((put.of, Place { order, pieces: put.pieces.len() })),
            None => {
                entries.waiting.push_back(Entry::Record(Arc::clone(&cell)));
                None
            }
        });
        Ok(Arc::new(Completion { cell, shared: Arc::clone(&self.shared), captured }))
    }

    fn drain(&self) -> Result<(), Error> {
        // A stream waits only for what was recorded before, so there is always a next piece.
        while self.with(|entries| !entries.waiting.is_empty()) {
            self.shared.step();
        }
        Ok(())
    }

    fn reports(&self) -> StreamReport {
        self.with(|entries| std::mem::take(&mut entries.reports))
    }

    fn begin_capture(&self) -> Result<(), Error> {
        let of = self.shared.state().streams.capture_number();
        self.with(|entries| entries.capture = Some(Put { of, pieces: Vec::new() }));
        Ok(())
    }

    fn end_capture(&self) -> Result<Box<dyn Captured>, Error> {
        Ok(Box::new(Recording(self.shared.state().streams.end_capture(self.id))))
    }

    fn executable(&self, captured: &dyn Captured) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(own::<Recording>(captured)?.clone()))
    }

    fn update(
        &self,
        executable: &mut dyn Executable,
        captured: &dyn Captured,
    ) -> Result<bool, Error> {
        let (old, new): (&mut Recording, &Recording) = (own_mut(executable)?, own(captured)?);
        let same = old.shape() == new.shape();
        if same {
            old.clone_from(new);
        }
        Ok(same)
    }

    fn launch_graph(&self, graph: &dyn Executable) -> Result<(), Error> {
        let Recording(orders) = own(graph)?;
        self.shared.state().streams.launch_graph(self.id, orders);
        Ok(())
    }

    fn upload_graph(&self, graph: &dyn Executable) -> Result<(), Error> {
        own::<Recording>(graph).map(drop)
    }
}

impl Drop for EmulatorQueue {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.streams.queues.entry(self.id).or_default().closed = true;
        state.streams.end_if_closed(self.id);
    }
}

/// What was captured: the pieces of each order, that of the capture itself first.
#[derive(Clone)]
struct Recording(Vec<(u64, Vec<Piece>)>);

impl Captured for Recording {}
impl Executable for Recording {}

impl Recording {
    /// What must be the same for an update in place, as on a GPU: the kinds of work, and what waits for what.
    fn shape(
        &self,
    ) -> Vec<Vec<(Discriminant<Piece>, Option<Discriminant<Work>>, Option<(usize, usize)>)>> {
        let number = |order| self.0.iter().position(|(id, _)| *id == order).unwrap_or(usize::MAX);
        let piece = |piece: &Piece| match piece {
            Piece::Work(work) => (discriminant(piece), Some(discriminant(work)), None),
            Piece::Behind(Place { order, pieces }) => {
                (discriminant(piece), None, Some((number(*order), *pieces)))
            }
        };
        self.0.iter().map(|(_, pieces)| pieces.iter().map(piece).collect()).collect()
    }
}
