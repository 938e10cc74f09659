//! The emulator's streams.
//!
//! Work is put in a queue and done later: when somebody waits on the host, the seed chooses again and
//! again which stream does its next piece, until what is waited for has ended. Between two streams
//! nothing is ordered except by the waits that one of them was given, so a wait that is missing lets a
//! later piece come first under some seed, which then shows in the values.
//!
//! What this does not show: two kernels of different streams whose threads take turns. Each kernel runs
//! from its start to its end.
//!
//! # When something fails
//! A piece that fails ends its stream: what follows is not done, and its fences carry the failure. So
//! it is with streams that wait for one of those fences. The device itself lives on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use baton::launch::Call;
use baton_emulator::trace::Trace;
use baton_emulator::{Launch, Machine, Program};

use super::{EmulatedKernel, Shared, print};
use crate::driver::{
    ALIGNMENT, Captured, Event, HostAddress, Kernel, Queue, Report, Rows, Want, own,
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

type Callback = Box<dyn FnOnce() + Send>;

/// One piece of work.
#[derive(Clone)]
enum Work {
    Launch(Arc<Program>, Box<Launch>, Option<Arc<Slot>>),
    Copy(Rows),
    Upload { from: HostAddress, to: u64, bytes: usize },
    Download { from: u64, to: HostAddress, bytes: usize },
    Fill { address: u64, bytes: usize, byte: u8 },
    Free(u64),
}

enum Entry {
    Work(Work),
    Callback(Callback),
    /// Goes on when the fence has signalled.
    Wait(Arc<Cell>),
    /// Signals the fence.
    Record(Arc<Cell>),
}

type Cell = OnceLock<Result<(), Failure>>;

/// Where the report of a launch will be, or its failure: whoever launched it is told, and nobody else.
type Slot = Mutex<Option<Result<LaunchReport, Box<baton_emulator::Error>>>>;

/// Where a fence of the emulator will be signalled.
struct Completion {
    cell: Arc<Cell>,
    shared: Arc<Shared>,
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

/// What an emulator's streams still have to do.
pub(super) struct Streams {
    queues: BTreeMap<u64, Entries>,
    next_id: u64,
    random: u64,
}

#[derive(Default)]
struct Entries {
    waiting: VecDeque<Entry>,
    /// Set by the first failure.
    failed: Option<Failure>,
    /// Whether a failure ends with the next fence.
    isolated: bool,
    /// What is put down instead of being done.
    capture: Option<Vec<Work>>,
    reports: StreamReport,
    /// A callback of it is running.
    calling: bool,
    /// Its stream is gone.
    closed: bool,
}

impl Entries {
    fn can_step(&self) -> bool {
        match self.waiting.front() {
            None => false,
            Some(_) if self.calling => false,
            Some(Entry::Wait(cell)) => cell.get().is_some(),
            Some(_) => true,
        }
    }
}

/// What one step came to.
pub(super) enum Step {
    Nothing,
    Done,
    /// To be called without the emulator's lock, and then [`Streams::called`] with the order's number.
    Callback((Callback, u64)),
}

impl Streams {
    pub(super) fn new(seed: u64) -> Self {
        Self { queues: BTreeMap::new(), next_id: 0, random: seed }
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        self.random = seed;
    }

    fn open(&mut self, want: Want) -> u64 {
        self.next_id += 1;
        let entries = Entries { isolated: want.isolated, ..Entries::default() };
        self.queues.insert(self.next_id, entries);
        self.next_id
    }

    /// The next stream to do something.
    fn choose(&mut self) -> Option<u64> {
        let ready: Vec<u64> = self
            .queues
            .iter()
            .filter(|(_, entries)| entries.can_step())
            .map(|(id, _)| *id)
            .collect();
        // The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators".
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let index = bits.checked_rem(ready.len() as u64)?;
        ready.get(index as usize).copied()
    }

    /// Does one piece of one stream.
    pub(super) fn step(&mut self, machine: &mut Machine) -> Step {
        let Some(id) = self.choose() else { return Step::Nothing };
        let Some(entries) = self.queues.get_mut(&id) else { return Step::Nothing };
        match entries.waiting.pop_front() {
            None => {}
            Some(Entry::Wait(cell)) => {
                if let (Some(Err(failure)), None) = (cell.get(), &entries.failed) {
                    entries.failed = Some(failure.clone());
                }
            }
            Some(Entry::Record(cell)) => {
                let ended = entries.failed.clone().map_or(Ok(()), Err);
                // Every cell is recorded once.
                let _ = cell.set(ended);
                if entries.isolated {
                    entries.failed = None;
                }
            }
            // A callback is told of no failure, and is not done behind one, as on a GPU.
            Some(Entry::Callback(callback)) if entries.failed.is_none() => {
                entries.calling = true;
                return Step::Callback((callback, id));
            }
            Some(Entry::Callback(callback)) => drop(callback),
            // What follows a failure is not done, but memory is given back.
            Some(Entry::Work(work)) if entries.failed.is_some() && !work.is_free() => drop(work),
            Some(Entry::Work(work)) => {
                if let Err(error) = work.run(machine, &mut entries.reports) {
                    entries.failed.get_or_insert_with(|| Failure::new(error));
                }
            }
        }
        self.end_if_closed(id);
        Step::Done
    }

    /// A callback has returned.
    pub(super) fn called(&mut self, id: u64) {
        if let Some(entries) = self.queues.get_mut(&id) {
            entries.calling = false;
        }
        self.end_if_closed(id);
    }

    fn is_calling(&self) -> bool {
        self.queues.values().any(|entries| entries.calling)
    }

    fn end_if_closed(&mut self, id: u64) {
        let ended =
            |entries: &Entries| entries.closed && entries.waiting.is_empty() && !entries.calling;
        if self.queues.get(&id).is_some_and(ended) {
            self.queues.remove(&id);
        }
    }
}

/// Runs a launch, and prints what it prints.
fn launch(
    machine: &mut Machine,
    program: &Arc<Program>,
    launch: &Launch,
) -> Result<LaunchReport, baton_emulator::Error> {
    let start = Instant::now();
    let report = machine.launch(program, launch)?;
    let elapsed = start.elapsed();
    let trace: Option<Trace> = machine.after().trace.clone();
    print(&report.output);
    Ok(LaunchReport {
        elapsed,
        instructions: Some(report.instructions),
        output: report.output,
        hazards: report.hazards.into(),
        trace: trace.map(Box::new),
    })
}

impl Work {
    fn is_free(&self) -> bool {
        matches!(self, Self::Free(_))
    }

    fn run(
        self,
        machine: &mut Machine,
        reports: &mut StreamReport,
    ) -> Result<(), baton_emulator::Error> {
        match self {
            Self::Launch(program, what, Some(slot)) => {
                let ended = launch(machine, &program, &what).map_err(Box::new);
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
                Ok(())
            }
            Self::Launch(program, what, None) => {
                let report = launch(machine, &program, &what)?;
                *reports.instructions.get_or_insert(0) += report.instructions.unwrap_or(0);
                reports.output.push_str(&report.output);
                reports.hazards.extend(report.hazards);
                Ok(())
            }
            Self::Copy(Rows { from, from_pitch, to, to_pitch, width, height }) => {
                let mut between = vec![0; width];
                for row in 0..height {
                    machine.read(from + (row * from_pitch) as u64, &mut between)?;
                    machine.write(to + (row * to_pitch) as u64, &between)?;
                }
                Ok(())
            }
            Self::Upload { from, to, bytes } => {
                // SAFETY: the host buffer has that many bytes and is kept until the fence behind this has
                // signalled; until then, nobody writes it.
                let from = unsafe { std::slice::from_raw_parts(from.0, bytes) };
                machine.write(to, from)
            }
            Self::Download { from, to, bytes } => {
                // SAFETY: as above; until then, nobody else touches it.
                let to = unsafe { std::slice::from_raw_parts_mut(to.0, bytes) };
                machine.read(from, to)
            }
            Self::Fill { address, bytes, byte } => fill(machine, address, bytes as u64, byte),
            Self::Free(address) => machine.free(address),
        }
    }
}

fn fill(
    machine: &mut Machine,
    address: u64,
    bytes: u64,
    byte: u8,
) -> Result<(), baton_emulator::Error> {
    const CHUNK: u64 = 64 * 1024;
    let chunk = vec![byte; bytes.min(CHUNK) as usize];
    let mut done = 0;
    while done < bytes {
        let part = &chunk[..(bytes - done).min(CHUNK) as usize];
        machine.write(address + done, part)?;
        done += part.len() as u64;
    }
    Ok(())
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
            Some(captured) => captured.push(work),
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
        let launch = Box::new(super::description(grid, call));
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
            device: super::NAME.into(),
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
        self.with(|entries| entries.waiting.push_back(Entry::Wait(cell)));
        Ok(())
    }

    fn record(&self) -> Result<Arc<dyn Event>, Error> {
        let cell = Arc::new(Cell::new());
        let recorded = Arc::clone(&cell);
        self.with(|entries| entries.waiting.push_back(Entry::Record(recorded)));
        Ok(Arc::new(Completion { cell, shared: Arc::clone(&self.shared) }))
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
        self.with(|entries| entries.capture = Some(Vec::new()));
        Ok(())
    }

    fn end_capture(&self) -> Result<Box<dyn Captured>, Error> {
        let works = self.with(|entries| entries.capture.take()).unwrap_or_default();
        Ok(Box::new(Recording(works)))
    }

    fn launch_graph(&self, graph: &dyn Captured) -> Result<(), Error> {
        let Recording(works) = own(graph)?;
        self.with(|entries| entries.waiting.extend(works.iter().cloned().map(Entry::Work)));
        Ok(())
    }

    fn upload_graph(&self, graph: &dyn Captured) -> Result<(), Error> {
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

/// A captured sequence of work.
struct Recording(Vec<Work>);

impl Captured for Recording {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Driver;
    use crate::driver::emulator::Emulator;
    use crate::options::EmulatorOptions;

    fn finish(emulator: &Emulator) {
        while emulator.shared.step() {}
    }

    /// One stream fills, another copies. What the copy has got at the end.
    fn copied(seed: u64, ordered: bool) -> [u8; 4] {
        let emulator = Emulator::new(EmulatorOptions::default().with_seed(seed));
        let [writer, reader] = [(); 2].map(|()| emulator.queue(Want::default()).unwrap());
        let (from, to) = (writer.alloc(4).unwrap(), writer.alloc(4).unwrap());
        writer.fill(from, 4, 1).unwrap();
        finish(&emulator);
        writer.fill(from, 4, 2).unwrap();
        let written = writer.record().unwrap();
        if ordered {
            reader.wait(&*written).unwrap();
        }
        reader.copy(from, to, 4).unwrap();
        finish(&emulator);
        let mut bytes = [0; 4];
        emulator.shared.state().machine.read(to, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_missing_wait_shows_in_the_values_under_some_seed() {
        let seeds = 0..64;
        assert!(seeds.clone().all(|seed| copied(seed, true) == [2; 4]));
        let values: Vec<_> = seeds.clone().map(|seed| copied(seed, false)).collect();
        assert!(values.contains(&[1; 4]) && values.contains(&[2; 4]), "{values:?}");
        // The same seed is the same run.
        let again: Vec<_> = seeds.map(|seed| copied(seed, false)).collect();
        assert_eq!(values, again);
    }

    #[test]
    fn a_stream_whose_queue_is_empty_leaves_nothing_behind() {
        let emulator = Emulator::new(EmulatorOptions::default());
        let [idle, busy] = [(); 2].map(|()| emulator.queue(Want::default()).unwrap());
        let address = busy.alloc(4).unwrap();
        busy.fill(address, 4, 1).unwrap();
        drop((idle, busy));
        assert_eq!(emulator.shared.state().streams.queues.len(), 1);
        finish(&emulator);
        assert!(emulator.shared.state().streams.queues.is_empty());
    }
}
