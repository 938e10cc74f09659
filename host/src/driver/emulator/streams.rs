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
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use baton_emulator::trace::Trace;
use baton_emulator::{Launch, Machine, Program};

use crate::driver::{HostAddress, Rows, Want};
use crate::report::{LaunchReport, StreamReport};
use crate::reservation::Failure;

pub(super) type Callback = Box<dyn FnOnce() + Send>;

/// One piece of work.
#[derive(Clone)]
pub(super) enum Work {
    Launch(Arc<Program>, Box<Launch>, Option<Arc<Slot>>),
    Copy(Rows),
    Upload { from: HostAddress, to: u64, bytes: usize },
    Download { from: u64, to: HostAddress, bytes: usize },
    Fill { address: u64, bytes: usize, byte: u8 },
    Free(u64),
    Between(Between),
}

/// Another emulator, to orders here that wait for it or copy from it or to it.
pub(super) trait Other: Send + Sync {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), baton_emulator::Error>;
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), baton_emulator::Error>;
    /// Does one piece of its work, or of what that waits for; those in `asked` have been asked already.
    fn step_or_others(&self, asked: &mut Vec<*const ()>) -> Stepped;
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stepped {
    Did,
    /// Nothing could be done, and another thread is doing something.
    Busy,
    /// Nothing can be done.
    Nothing,
}

/// A copy of which one side is another emulator's.
#[derive(Clone)]
pub(super) struct Between {
    pub(super) from: Side,
    pub(super) to: Side,
    pub(super) bytes: usize,
}

/// Where: in the machine that does the copy, or in another.
#[derive(Clone)]
pub(super) enum Side {
    Here(u64),
    There(Arc<dyn Other>, u64),
}

impl Between {
    /// Neither machine is locked when this is called, nor both at the same time.
    pub(super) fn run(self, here: &dyn Other) -> Result<(), baton_emulator::Error> {
        let mut bytes = vec![0; self.bytes];
        match &self.from {
            Side::Here(address) => here.read(*address, &mut bytes)?,
            Side::There(there, address) => there.read(*address, &mut bytes)?,
        }
        match &self.to {
            Side::Here(address) => here.write(*address, &bytes),
            Side::There(there, address) => there.write(*address, &bytes),
        }
    }
}

/// What one order of a capture has put down.
#[derive(Clone)]
pub(super) struct Put {
    /// The capture's number.
    pub(super) of: u64,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a captured order.
#[derive(Clone)]
pub(super) enum Piece {
    Work(Work),
    /// Goes on when another order of the capture has done so many pieces.
    Behind(Place),
}

/// A place in a capture: behind so many pieces of one of its orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) order: u64,
    pub(super) pieces: usize,
}

pub(super) enum Entry {
    Work(Work),
    Callback(Callback),
    /// Goes on when the fence has signalled, which is another emulator's if one is named.
    Wait(Arc<Cell>, Option<Arc<dyn Other>>),
    /// Signals the fence.
    Record(Arc<Cell>),
}

pub(super) type Cell = OnceLock<Result<(), Failure>>;

/// Where the report of a launch will be, or its failure: whoever launched it is told, and nobody else.
pub(super) type Slot = Mutex<Option<Result<LaunchReport, Box<baton_emulator::Error>>>>;

/// What an emulator's streams still have to do.
pub(super) struct Streams {
    pub(super) queues: BTreeMap<u64, Entries>,
    next_id: u64,
    random: u64,
}

#[derive(Default)]
pub(super) struct Entries {
    pub(super) waiting: VecDeque<Entry>,
    /// Set by the first failure.
    failed: Option<Failure>,
    /// Whether a failure ends with the next fence.
    isolated: bool,
    /// What is put down instead of being done.
    pub(super) capture: Option<Put>,
    pub(super) reports: StreamReport,
    /// The order whose reports they are, of a branch of a graph.
    reports_to: Option<u64>,
    /// A callback of it is running.
    calling: bool,
    /// Its stream is gone.
    pub(super) closed: bool,
}

impl Entries {
    fn can_step(&self) -> bool {
        match self.waiting.front() {
            None => false,
            Some(_) if self.calling => false,
            Some(Entry::Wait(cell, _)) => cell.get().is_some(),
            Some(_) => true,
        }
    }
}

/// What one step came to.
pub(super) enum Step {
    Nothing,
    Done,
    /// To be done without the emulator's lock, and then [`Streams::returned`] with the order's number.
    Outside(Outside, u64),
}

/// What is done without the emulator's lock.
pub(super) enum Outside {
    Callback(Callback),
    /// It is not called, and what it has is dropped.
    Unwanted(Callback),
    Between(Between),
}

impl Streams {
    pub(super) fn new(seed: u64) -> Self {
        Self { queues: BTreeMap::new(), next_id: 0, random: seed }
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        self.random = seed;
    }

    pub(super) fn open(&mut self, want: Want) -> u64 {
        self.next_id += 1;
        let entries = Entries { isolated: want.isolated, ..Entries::default() };
        self.queues.insert(self.next_id, entries);
        self.next_id
    }

    /// A number for a capture.
    pub(super) fn capture_number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The capture of this order and those that have joined, with the first order first; all of them have left it.
    pub(super) fn end_capture(&mut self, first: u64) -> Vec<(u64, Vec<Piece>)> {
        let taken = self.queues.get_mut(&first).and_then(|entries| entries.capture.take());
        let Some(Put { of, pieces }) = taken else { return Vec::new() };
        let mut orders = vec![(first, pieces)];
        for (id, entries) in &mut self.queues {
            if let Some(put) = entries.capture.take_if(|put| put.of == of) {
                orders.push((*id, put.pieces));
            }
        }
        orders
    }

    /// Gives the pieces of a capture to an order; those of other orders than the first are done beside.
    pub(super) fn launch_graph(&mut self, order: u64, graph: &[(u64, Vec<Piece>)]) {
        let waits = graph.iter().flat_map(|(_, pieces)| pieces).filter_map(|piece| match piece {
            Piece::Behind(place) => Some((*place, Arc::<Cell>::default())),
            Piece::Work(_) => None,
        });
        let cells: BTreeMap<Place, Arc<Cell>> = waits.collect();
        for (index, (id, pieces)) in graph.iter().enumerate() {
            let mut entries = Vec::new();
            for at in 0..=pieces.len() {
                let cell = cells.get(&Place { order: *id, pieces: at });
                entries.extend(cell.map(|cell| Entry::Record(Arc::clone(cell))));
                entries.extend(pieces.get(at).and_then(|piece| match piece {
                    Piece::Work(work) => Some(Entry::Work(work.clone())),
                    Piece::Behind(place) => {
                        cells.get(place).cloned().map(|cell| Entry::Wait(cell, None))
                    }
                }));
            }
            let to = match index {
                0 => order,
                _ => self.open(Want::default()),
            };
            let there = self.queues.entry(to).or_default();
            there.waiting.extend(entries);
            if index > 0 {
                (there.reports_to, there.closed) = (Some(order), true);
            }
        }
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
            Some(Entry::Wait(cell, _)) => {
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
                return Step::Outside(Outside::Callback(callback), id);
            }
            Some(Entry::Callback(callback)) => {
                entries.calling = true;
                return Step::Outside(Outside::Unwanted(callback), id);
            }
            // What follows a failure is not done, but memory is given back.
            Some(Entry::Work(work)) if entries.failed.is_some() && !work.is_free() => drop(work),
            Some(Entry::Work(Work::Between(copy))) => {
                entries.calling = true;
                return Step::Outside(Outside::Between(copy), id);
            }
            Some(Entry::Work(work)) => {
                if let Err(error) = work.run(machine, &mut entries.reports) {
                    entries.failed.get_or_insert_with(|| Failure::new(error));
                }
                if let Some(order) = entries.reports_to {
                    let reports = std::mem::take(&mut entries.reports);
                    // Without its stream, nobody asks for them, and hazards are printed.
                    if let Some(entries) = self.queues.get_mut(&order) {
                        entries.reports.add(reports);
                    }
                }
            }
        }
        self.end_if_closed(id);
        Step::Done
    }

    /// What was done without the lock has ended.
    pub(super) fn returned(&mut self, id: u64, ended: Result<(), Failure>) {
        if let Some(entries) = self.queues.get_mut(&id) {
            entries.calling = false;
            if let Err(failure) = ended {
                entries.failed.get_or_insert(failure);
            }
        }
        self.end_if_closed(id);
    }

    pub(super) fn is_calling(&self) -> bool {
        self.queues.values().any(|entries| entries.calling)
    }

    /// The emulators that orders here wait for, before they can do anything else.
    pub(super) fn others(&self) -> Vec<Arc<dyn Other>> {
        let waiting = self.queues.values().filter_map(|entries| entries.waiting.front());
        let others = waiting.filter_map(|entry| match entry {
            Entry::Wait(cell, other) if cell.get().is_none() => other.clone(),
            _ => None,
        });
        others.collect()
    }

    pub(super) fn end_if_closed(&mut self, id: u64) {
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
                reports.add(StreamReport {
                    instructions: report.instructions,
                    output: report.output,
                    hazards: report.hazards,
                });
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
            // It is done without this machine's lock.
            Self::Between(_) => Ok(()),
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

/// As with a GPU's driver, a closed standard output loses the text and nothing else.
fn print(output: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(output.as_bytes()).and_then(|()| stdout.flush());
}
