//! An order of work of an emulator, and the places in it.

use std::mem::discriminant;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use baton::launch::Call;

use super::code::{EmulatedKernel, description};
use super::shared::{Emulator, Shared};
use super::streams::{
    Between, Callback, Cell, Entries, Entry, Other, Piece, Place, Put, Side, Slot, Stepped, Work,
};
use crate::driver::{
    Captured, Driver, Event, Executable, HostAddress, Kernel, Queue, Report, Rows, Want, own,
    own_mut,
};
use crate::error::Error;
use crate::grid::Grid;
use crate::report::{LaunchReport, StreamReport};
use crate::reservation::{Failure, Status};

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
            match stepped {
                Stepped::Did => {}
                // Another thread may be doing the piece that this waits for.
                Stepped::Busy => std::thread::yield_now(),
                Stepped::Nothing => {
                    let said = "the emulator has no work left that could signal this";
                    return Err(Failure::new(said));
                }
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

    fn copy_between(
        &self,
        (from, source): (&dyn Driver, u64),
        (to, destination): (&dyn Driver, u64),
        bytes: usize,
    ) -> Result<(), Error> {
        let side = |driver: &dyn Driver, address| {
            let there = &own::<Emulator>(driver)?.shared;
            Ok::<_, Error>(match Arc::ptr_eq(there, &self.shared) {
                true => Side::Here(address),
                false => {
                    let there: Arc<Shared> = Arc::clone(there);
                    Side::There(there, address)
                }
            })
        };
        let (from, to) = (side(from, source)?, side(to, destination)?);
        self.push(Work::Between(Between { from, to, bytes }))
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
        self.shared.alloc(bytes)
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
        let is_own = Arc::ptr_eq(&completion.shared, &self.shared);
        if !is_own && completion.captured.is_some() {
            return Err(Error::ForeignFence);
        }
        let other = (!is_own).then(|| Arc::clone(&completion.shared) as Arc<dyn Other>);
        let cell = Arc::clone(&completion.cell);
        self.with(|entries| match (completion.captured, &mut entries.capture) {
            (None, None) => {
                entries.waiting.push_back(Entry::Wait(cell, other));
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
            if self.shared.step() != Stepped::Did {
                std::thread::yield_now();
            }
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
        let same = new.has_shape_of(old);
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
    /// Whether it can take the other's place, as on a GPU: with the same kinds of work, and the same waits for each other.
    fn has_shape_of(&self, other: &Self) -> bool {
        let number = |of: &Self, order| of.0.iter().position(|(id, _)| *id == order);
        let same = |(a, b): (&Piece, &Piece)| match (a, b) {
            (Piece::Work(a), Piece::Work(b)) => discriminant(a) == discriminant(b),
            (Piece::Behind(a), Piece::Behind(b)) => {
                a.pieces == b.pieces && number(self, a.order) == number(other, b.order)
            }
            _ => false,
        };
        let mut orders = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len()
            && orders.all(|((_, a), (_, b))| a.len() == b.len() && a.iter().zip(b).all(same))
    }
}
