//! What the stand-in does with the work that it is given: as late as the order of the streams permits,
//! unless a seed says that some of it is done earlier.
//!
//! Each rule names where the driver's documents say it. *Sync* is the page "API synchronization
//! behavior" of the driver API's reference, *Pool* the section "Stream Ordered Memory Allocator" there,
//! *Streams* the legacy stream's rules in "Stream synchronization behavior".

use std::alloc::{Layout, alloc};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

use crate::captures::Capture;
use crate::{CURRENT, LOST, log};

/// What fresh memory is full of, and memory that was freed: nothing can be relied on (*Pool*: "the contents
/// are undefined").
const FRESH: u8 = 0xcd;
const FREED: u8 = 0xdf;

pub type Host = unsafe extern "C" fn(*mut c_void);

/// One piece of work in a stream's order.
#[derive(Clone)]
pub enum Op {
    /// Something to do with these allocations, which have to be there when it is done.
    Work(Arc<dyn Fn() -> u32 + Send + Sync>, Vec<u64>),
    /// Nothing goes on before that stream has come so far (`cuStreamWaitEvent`).
    Wait(usize, u64),
    /// Memory is there from here on (*Pool*, `cuMemAllocAsync`).
    Alloc(u64),
    /// Memory is gone from here on (*Pool*, `cuMemFreeAsync`).
    Free(u64),
    /// `cuLaunchHostFunc`.
    Host(Host, usize),
}

/// Where an event was recorded.
#[derive(Clone, Copy)]
pub enum Place {
    At(usize, u64),
    /// In which capture, on which stream, behind how many pieces of it.
    Captured(u64, usize, usize),
}

/// What was captured: of each stream its pieces, the first stream first. Waits are for streams and places of the capture.
pub type Graph = Vec<(usize, Vec<Op>)>;

#[derive(Default)]
pub struct Line {
    ops: VecDeque<Op>,
    pub given: u64,
    pub done: u64,
    pub capture: Option<Capture>,
    /// It was destroyed, and finishes what it was given (`cuStreamDestroy`).
    retired: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// It was asked for in a stream's order, which has not come so far.
    Coming,
    There,
    Gone,
}

struct Block {
    base: u64,
    layout: Layout,
    state: State,
    /// Whether it was given back, and in the order of which stream.
    given_back: Option<usize>,
    host: bool,
    /// The context of its device; 0 where all may use it: page-locked memory, in the unified address space.
    context: usize,
}

#[derive(Default)]
pub struct Machine {
    /// The context of each stream and event that was made.
    pub contexts: HashMap<usize, usize>,
    pub lines: BTreeMap<usize, Line>,
    /// Where each event was recorded last.
    pub events: HashMap<usize, Place>,
    blocks: HashMap<u64, Block>,
    /// Which allocation the host means by an address.
    at: BTreeMap<u64, u64>,
    next_block: u64,
    pub graphs: HashMap<usize, Graph>,
    pub next_graph: usize,
    pub next_capture: u64,
    next_branch: usize,
    /// Of the choice what is done early; 0 for nothing.
    pub random: u64,
    pub violations: Vec<String>,
    /// The most allocations that had memory of their own.
    places: HashMap<u64, ()>,
}

static MACHINE: Mutex<Option<Machine>> = Mutex::new(None);

/// The one machine of this process.
pub struct Locked(MutexGuard<'static, Option<Machine>>);

impl std::ops::Deref for Locked {
    type Target = Machine;
    fn deref(&self) -> &Machine {
        self.0.as_ref().unwrap()
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Machine {
        self.0.as_mut().unwrap()
    }
}

pub fn machine() -> Locked {
    let mut machine = MACHINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    machine.get_or_insert_default();
    Locked(machine)
}

thread_local! {
    /// Whether this thread is in a callback, which may not call the driver (`cuLaunchHostFunc`: "must not make
    /// any CUDA API calls").
    pub static IN_CALLBACK: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

pub fn memory<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

impl Machine {
    pub fn violated(&mut self, what: String) {
        log(format!("VIOLATION: {what}"));
        self.violations.push(what);
    }

    /// The allocation that has these bytes, as the host means it now, which is to be that context's: without peer access,
    /// a device reaches its own (`cuCtxEnablePeerAccess`).
    pub fn meant(&mut self, address: u64, bytes: usize, context: Option<usize>) -> Vec<u64> {
        if bytes == 0 {
            return Vec::new();
        }
        let found = self.at.range(..=address).next_back().map(|(_, id)| *id);
        let found = found.filter(|id| {
            let block = &self.blocks[id];
            address + bytes as u64 <= block.base + block.layout.size() as u64
        });
        match found {
            Some(id) if self.blocks[&id].given_back.is_some() => {
                self.violated(format!("work on memory that was given back before ({address:#x})"));
                Vec::new()
            }
            Some(id) => {
                let of = self.blocks[&id].context;
                if let Some(context) = context.filter(|context| of != 0 && of != *context) {
                    self.violated(format!("work of context {context:#x} on memory of {of:#x}"));
                }
                vec![id]
            }
            None => {
                self.violated(format!(
                    "work on {bytes} bytes at {address:#x}, which are no allocation"
                ));
                Vec::new()
            }
        }
    }

    /// Whether it is page-locked memory.
    pub fn is_host(&self, address: u64) -> bool {
        let found = self.at.range(..=address).next_back();
        found.is_some_and(|(_, id)| {
            let block = &self.blocks[id];
            block.host && address < block.base + block.layout.size() as u64
        })
    }

    /// Memory in a stream's order, or at once.
    pub fn allocate(&mut self, bytes: usize, stream: Option<usize>, host: bool) -> u64 {
        let context = if host { 0 } else { CURRENT.get().addr() };
        let layout = Layout::from_size_align(bytes, 256).unwrap();
        // Memory is used again as soon as the rules permit: freed before in this stream's order, or freed
        // altogether (*Pool*, "reuse").
        let spare = self.at.iter().find_map(|(base, id)| {
            let block = &self.blocks[id];
            let freed =
                block.state == State::Gone || (stream.is_some() && block.given_back == stream);
            (block.layout == layout && block.given_back.is_some() && freed && block.host == host && block.context == context)
                .then_some(*base)
        });
        let base = spare.unwrap_or_else(|| unsafe { alloc(layout) }.expose_provenance() as u64);
        self.places.insert(base, ());
        self.next_block += 1;
        let id = self.next_block;
        let state = if stream.is_some() { State::Coming } else { State::There };
        self.blocks.insert(id, Block { base, layout, state, given_back: None, host, context });
        // What is gone and has been replaced is remembered no longer.
        if let Some(old) = self.at.insert(base, id)
            && self.blocks[&old].state == State::Gone
        {
            self.blocks.remove(&old);
        }
        match stream {
            Some(stream) => self.give(stream, Op::Alloc(id)),
            None => unsafe { memory::<u8>(base).write_bytes(FRESH, bytes) },
        }
        base
    }

    /// Gives memory back, in a stream's order or at once; `false` if it is none.
    pub fn give_back(&mut self, base: u64, stream: Option<usize>) -> bool {
        let Some(id) = self.at.get(&base).copied() else { return false };
        let Some(block) = self.blocks.get_mut(&id) else { return false };
        if block.given_back.is_some() {
            return false;
        }
        block.given_back = Some(stream.unwrap_or(usize::MAX));
        match stream {
            Some(stream) => self.give(stream, Op::Free(id)),
            None => self.end(id),
        }
        true
    }

    fn end(&mut self, id: u64) {
        let block = self.blocks.get_mut(&id).unwrap();
        block.state = State::Gone;
        let (base, bytes) = (block.base, block.layout.size());
        unsafe { memory::<u8>(base).write_bytes(FREED, bytes) };
    }

    pub fn allocations(&self) -> usize {
        self.blocks.values().filter(|block| block.given_back.is_none()).count()
    }

    pub fn places(&self) -> usize {
        self.places.len()
    }

    pub fn line(&mut self, stream: usize) -> &mut Line {
        self.lines.entry(stream).or_default()
    }

    /// Work for a stream: put down if it is captured, else done later.
    pub fn give(&mut self, stream: usize, op: Op) {
        let line = self.line(stream);
        match &mut line.capture {
            Some(capture) => capture.ops.push(op),
            None => {
                line.ops.push_back(op);
                line.given += 1;
            }
        }
        self.stir();
    }

    /// Work of a graph: a line of its own for each stream but the first, which is this one.
    pub fn launch(&mut self, stream: usize, graph: Graph) {
        // Streams and events are smaller numbers.
        const BRANCHES: usize = 1 << 40;
        let lines: Vec<(usize, u64)> = (0..graph.len())
            .map(|branch| match branch {
                0 => (stream, self.line(stream).given),
                _ => {
                    self.next_branch += 1;
                    (BRANCHES + self.next_branch, 0)
                }
            })
            .collect();
        let numbers: Vec<usize> = graph.iter().map(|(number, _)| *number).collect();
        for (branch, (_, ops)) in graph.into_iter().enumerate() {
            let place = |number, place| {
                let (line, base) = lines[numbers.iter().position(|n| *n == number).unwrap()];
                Op::Wait(line, base + place)
            };
            let ops = ops.into_iter().map(|op| match op {
                Op::Wait(number, at) => place(number, at),
                op => op,
            });
            let line = self.line(lines[branch].0);
            line.given += ops.len() as u64;
            line.ops.extend(ops);
            line.retired |= branch > 0;
        }
        self.stir();
    }

    /// Does what the stream was given up to that place, and what it has to wait for.
    pub fn run_to(&mut self, stream: usize, place: u64) {
        while LOST.load(std::sync::atomic::Ordering::Relaxed) == 0 {
            let Some(line) = self.lines.get_mut(&stream).filter(|line| line.done < place) else {
                return self.forget_if_retired(stream);
            };
            let Some(op) = line.ops.pop_front() else { return };
            if let Op::Wait(other, place) = op {
                self.run_to(other, place);
            }
            self.line(stream).done += 1;
            self.act(op);
        }
    }

    pub fn retire(&mut self, stream: usize) {
        self.line(stream).retired = true;
        self.forget_if_retired(stream);
    }

    fn forget_if_retired(&mut self, stream: usize) {
        if self.lines.get(&stream).is_some_and(|line| line.retired && line.ops.is_empty()) {
            self.lines.remove(&stream);
        }
    }

    pub fn run_all(&mut self) {
        let streams: Vec<_> =
            self.lines.iter().map(|(stream, line)| (*stream, line.given)).collect();
        streams.into_iter().for_each(|(stream, given)| self.run_to(stream, given));
    }

    fn act(&mut self, op: Op) {
        match op {
            Op::Wait(..) => {}
            Op::Alloc(id) => {
                let block = self.blocks.get_mut(&id).unwrap();
                block.state = State::There;
                let (base, bytes) = (block.base, block.layout.size());
                unsafe { memory::<u8>(base).write_bytes(FRESH, bytes) };
            }
            Op::Free(id) => self.end(id),
            Op::Work(work, touched) => {
                for id in touched {
                    let what = match self.blocks.get(&id).map(|block| block.state) {
                        Some(State::There) => continue,
                        Some(State::Coming) => "before it was allocated",
                        Some(State::Gone) | None => "after it was freed",
                    };
                    self.violated(format!("work uses allocation {id} {what}"));
                }
                let code = work();
                if code != 0 {
                    LOST.store(code, std::sync::atomic::Ordering::Relaxed);
                }
            }
            Op::Host(function, data) => {
                IN_CALLBACK.set(true);
                unsafe { function(if data == 0 { null_mut() } else { memory(data as u64) }) };
                IN_CALLBACK.set(false);
            }
        }
    }

    fn choose(&mut self) -> u64 {
        // Marsaglia's "xorshift" generator.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Does some of the work that could be done, as the seed says.
    fn stir(&mut self) {
        if self.random == 0 {
            return;
        }
        for _ in 0..self.choose() % 3 {
            let ready: Vec<usize> = self
                .lines
                .iter()
                .filter(|(_, line)| match line.ops.front() {
                    None => false,
                    Some(Op::Wait(other, place)) => {
                        self.lines.get(other).is_none_or(|other| other.done >= *place)
                    }
                    Some(_) => true,
                })
                .map(|(stream, _)| *stream)
                .collect();
            if ready.is_empty() {
                return;
            }
            let stream = ready[self.choose() as usize % ready.len()];
            let next = self.line(stream).done + 1;
            self.run_to(stream, next);
        }
    }

    /// Whether the event's place has been reached.
    pub fn reached(&self, event: usize) -> bool {
        match self.events.get(&event) {
            Some(Place::At(stream, place)) => {
                self.lines.get(stream).is_none_or(|line| line.done >= *place)
            }
            // An event that was never recorded counts as complete (`cuEventQuery`).
            _ => true,
        }
    }

    pub fn capturing(&self, which: impl Fn(&Capture) -> bool) -> Vec<usize> {
        let captured =
            self.lines.iter().filter(|(_, line)| line.capture.as_ref().is_some_and(&which));
        captured.map(|(stream, _)| *stream).collect()
    }

    /// Captures that something has spoiled end with 901.
    pub fn spoil(&mut self, streams: &[usize]) {
        for stream in streams {
            if let Some(capture) = &mut self.line(*stream).capture {
                capture.spoiled = true;
            }
        }
    }
}

pub fn this_thread() -> ThreadId {
    std::thread::current().id()
}
