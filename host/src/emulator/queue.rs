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
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use baton::launch::Call;
use baton_emulator::{Launch, Machine, Program};

use super::{Shared, fill};
use crate::Error;
use crate::device::ALIGNMENT;
use crate::launch::Grid;
use crate::module::Loaded;
use crate::reservation::{Failure, Status};
use crate::stream::queue::{Graph, HostAddress, Point, Queue, Reports};

/// A stream of an emulator.
pub(crate) struct EmulatorQueue {
    shared: Arc<Shared>,
    id: u64,
}

/// One piece of work.
#[derive(Clone)]
enum Work {
    Launch(Arc<Program>, Box<Launch>),
    Copy { from: u64, to: u64, bytes: usize },
    Upload { from: HostAddress, to: u64, bytes: usize },
    Download { from: u64, to: HostAddress, bytes: usize },
    Fill { address: u64, bytes: usize, byte: u8 },
    Free(u64),
}

enum Entry {
    Work(Work),
    /// Goes on when the fence has signalled.
    Wait(Arc<Cell>),
    /// Signals the fence.
    Record(Arc<Cell>),
}

type Cell = OnceLock<Result<(), Failure>>;

/// Where a fence of the emulator will be signalled.
pub(crate) struct Completion {
    cell: Arc<Cell>,
    shared: Arc<Shared>,
}

impl Completion {
    pub(crate) fn status(&self) -> Status {
        match self.cell.get() {
            None => Status::Pending,
            Some(Ok(())) => Status::Done,
            Some(Err(failure)) => Status::Failed(failure.clone()),
        }
    }

    /// Does work, of any stream, until this is done. A deadline that has passed lets it do one piece:
    /// a program that only looks now and then must see an end too.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Result<Status, Failure> {
        loop {
            let status = self.status();
            if status.is_signaled() {
                return Ok(status);
            }
            let stepped = self.shared.state().step();
            let status = self.status();
            if status.is_signaled() || deadline.is_some_and(|at| at <= Instant::now()) {
                return Ok(status);
            }
            if !stepped {
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
    /// What is put down instead of being done.
    capture: Option<Vec<Work>>,
    reports: Reports,
    /// Its stream is gone.
    closed: bool,
}

impl Entries {
    fn can_step(&self) -> bool {
        match self.waiting.front() {
            None => false,
            Some(Entry::Wait(cell)) => cell.get().is_some(),
            Some(_) => true,
        }
    }
}

impl Streams {
    pub(super) fn new(seed: u64) -> Self {
        Self { queues: BTreeMap::new(), next_id: 0, random: seed }
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        self.random = seed;
    }

    fn open(&mut self) -> u64 {
        self.next_id += 1;
        self.queues.insert(self.next_id, Entries::default());
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

    /// Does one piece of one stream; `false` if there is none.
    pub(super) fn step(&mut self, machine: &mut Machine) -> bool {
        let Some(id) = self.choose() else { return false };
        let Some(entries) = self.queues.get_mut(&id) else { return false };
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
            }
            // What follows a failure is not done, but memory is given back.
            Some(Entry::Work(work)) if entries.failed.is_some() && !work.is_free() => drop(work),
            Some(Entry::Work(work)) => {
                if let Err(error) = work.run(machine, &mut entries.reports) {
                    entries.failed.get_or_insert_with(|| Failure::new(error));
                }
            }
        }
        if entries.closed && entries.waiting.is_empty() {
            self.queues.remove(&id);
        }
        true
    }
}

impl Work {
    fn is_free(&self) -> bool {
        matches!(self, Self::Free(_))
    }

    fn run(
        self,
        machine: &mut Machine,
        reports: &mut Reports,
    ) -> Result<(), baton_emulator::Error> {
        match self {
            Self::Launch(program, launch) => {
                let report = machine.launch(&program, &launch)?;
                *reports.instructions.get_or_insert(0) += report.instructions;
                let mut stdout = std::io::stdout();
                let _ = stdout.write_all(report.output.as_bytes()).and_then(|()| stdout.flush());
                reports.output.push_str(&report.output);
                reports.hazards.extend(report.hazards);
                Ok(())
            }
            Self::Copy { from, to, bytes } => {
                let mut between = vec![0; bytes];
                machine.read(from, &mut between)?;
                machine.write(to, &between)
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

impl EmulatorQueue {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let id = shared.state().streams.open();
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
}

impl Queue for EmulatorQueue {
    fn launch(&self, module: &Arc<Loaded>, grid: Grid, call: &Call<'_>) -> Result<(), Error> {
        let Loaded::Emulator(module) = &**module else { return Err(Error::foreign_module(call)) };
        self.push(Work::Launch(module.program(), Box::new(super::description(grid, call))))
    }

    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), Error> {
        self.push(Work::Copy { from, to, bytes })
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
        let bytes = (bytes as u64).max(1);
        Ok(self.shared.state().machine.alloc(bytes, ALIGNMENT).map_err(Box::new)?)
    }

    fn free(&self, address: u64) -> Result<(), Error> {
        self.push(Work::Free(address))
    }

    fn wait(&self, point: &Point) -> Result<(), Error> {
        let Point::Emulator(completion) = point else { return Err(Error::ForeignFence) };
        if !Arc::ptr_eq(&completion.shared, &self.shared) {
            return Err(Error::ForeignFence);
        }
        let cell = Arc::clone(&completion.cell);
        self.with(|entries| entries.waiting.push_back(Entry::Wait(cell)));
        Ok(())
    }

    fn record(&self) -> Result<Point, Error> {
        let cell = Arc::new(Cell::new());
        let recorded = Arc::clone(&cell);
        self.with(|entries| entries.waiting.push_back(Entry::Record(recorded)));
        Ok(Point::Emulator(Completion { cell, shared: Arc::clone(&self.shared) }))
    }

    fn synchronize(&self) -> Result<Reports, Error> {
        loop {
            let mut state = self.shared.state();
            let entries = state.streams.queues.entry(self.id).or_default();
            if entries.waiting.is_empty() {
                return Ok(std::mem::take(&mut entries.reports));
            }
            // A stream waits only for what was recorded before, so there is always a next piece.
            state.step();
        }
    }

    fn begin_capture(&self) -> Result<(), Error> {
        self.with(|entries| entries.capture = Some(Vec::new()));
        Ok(())
    }

    fn end_capture(&self) -> Result<Graph, Error> {
        let works = self.with(|entries| entries.capture.take()).unwrap_or_default();
        Ok(Graph::Emulator(Recording(works)))
    }

    fn launch_graph(&self, graph: &Graph) -> Result<(), Error> {
        let Graph::Emulator(Recording(works)) = graph else { return Err(Error::ForeignFence) };
        self.with(|entries| entries.waiting.extend(works.iter().cloned().map(Entry::Work)));
        Ok(())
    }
}

impl Drop for EmulatorQueue {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let entries = state.streams.queues.entry(self.id).or_default();
        entries.closed = true;
        if entries.waiting.is_empty() {
            state.streams.queues.remove(&self.id);
        }
    }
}

/// A captured sequence of work.
pub(crate) struct Recording(Vec<Work>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EmulatorOptions;
    use crate::device::Memory;
    use crate::emulator::Emulator;

    /// One stream fills, another copies. What the copy has got at the end.
    fn copied(seed: u64, ordered: bool) -> [u8; 4] {
        let emulator = Emulator::new(EmulatorOptions::default().with_seed(seed));
        let (from, to) = (emulator.alloc(4).unwrap(), emulator.alloc(4).unwrap());
        emulator.fill(from, 4, 1).unwrap();
        let (writer, reader) = (emulator.stream(), emulator.stream());
        writer.fill(from, 4, 2).unwrap();
        let written = writer.record().unwrap();
        if ordered {
            reader.wait(&written).unwrap();
        }
        reader.copy(from, to, 4).unwrap();
        emulator.finish();
        let mut bytes = [0; 4];
        emulator.read(to, &mut bytes).unwrap();
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
        let address = emulator.alloc(4).unwrap();
        let (idle, busy) = (emulator.stream(), emulator.stream());
        busy.fill(address, 4, 1).unwrap();
        drop((idle, busy));
        assert_eq!(emulator.shared.state().streams.queues.len(), 1);
        emulator.finish();
        assert!(emulator.shared.state().streams.queues.is_empty());
    }
}
