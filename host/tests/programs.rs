//! Random programs of host operations, of one thread and of three at the same time, beside a model.
//!
//! Every buffer stands under a lock with the values that the model has for it. An operation locks what it touches as it
//! borrows it (shared to read, exclusively to write), is given to the device, and changes the model before it lets go: so the
//! order in which the threads get a buffer's lock, which is the one in which they get its reservation, is all that the model
//! knows, and the rest goes on at the same time. What is read must be what the model has. Operations may come with an error
//! that the driver answers to one of its functions, to whoever calls it meanwhile; after an error, the buffers that were to be
//! written are unknown until they are overwritten, and nothing else is. At the end nothing is left, and the stand-in has seen no
//! use of memory that is not there.

#![cfg(target_os = "linux")]

mod fixture;
mod stand_in;

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, RwLock};
use std::thread;

use baton_campaign::Campaign;
use baton_host::{
    Buffer, Capture, Device, EmulatorOptions, Error, Graph, Managed, Module, Pinned, Stream, read,
    write,
};
use fixture::{KERNELS, scale};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use stand_in::{Driver, allocations, asked, complete, fail, seed, violations, with};

const LEN: usize = 4;
const BUFFERS: usize = 4;
const STREAMS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Op {
    Write {
        to: usize,
        value: u8,
    },
    Fill {
        to: usize,
    },
    FillOn {
        stream: usize,
        to: usize,
    },
    Read {
        from: usize,
    },
    Launch {
        stream: usize,
        from: usize,
        to: usize,
    },
    LaunchAndWait {
        from: usize,
        to: usize,
    },
    Copy {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// The first half of one to the second of the other.
    CopyPart {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// To page-locked memory that is looked at and dropped, or only dropped.
    Download {
        stream: usize,
        from: usize,
        look: bool,
    },
    Upload {
        stream: usize,
        to: usize,
        value: u8,
    },
    /// A new buffer in the place of an old one, which is dropped whatever uses it.
    Replace {
        to: usize,
        value: u8,
    },
    ReplaceOn {
        stream: usize,
        to: usize,
        value: u8,
    },
    Free {
        stream: usize,
        to: usize,
        value: u8,
    },
    Move {
        stream: usize,
        what: usize,
    },
    /// A stream is captured, with a branch on another, and another operation comes from elsewhere meanwhile.
    Capture {
        stream: usize,
        from: usize,
        to: usize,
        branch: bool,
    },
    /// The same, in the place of what was captured before.
    Update {
        stream: usize,
        from: usize,
        to: usize,
        branch: bool,
    },
    LaunchGraph {
        stream: usize,
    },
    DropGraph,
    /// To another device and back.
    Travel {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// Through memory that the host looks at.
    Manage {
        stream: usize,
        from: usize,
        to: usize,
    },
    Synchronize {
        stream: usize,
    },
    DropStream {
        stream: usize,
    },
    Reload,
    /// From here on the driver is quick, or slow.
    Complete(bool),
}

/// A function of the driver and what it answers.
const ERRORS: [&str; 19] = [
    "cuEventSynchronize:900",
    "cuEventQuery:900",
    "cuEventRecord:1",
    "cuEventCreate:2",
    "cuStreamWaitEvent:1",
    "cuStreamCreateWithPriority:2",
    "cuMemcpyHtoDAsync_v2:1",
    "cuMemcpyDtoHAsync_v2:1",
    "cuMemcpyDtoDAsync_v2:1",
    "cuMemcpyPeerAsync:1",
    "cuMemsetD8Async:917",
    "cuLaunchKernelEx:701",
    "cuMemAllocAsync:2",
    "cuMemAllocManaged:2",
    "cuMemFreeAsync:1",
    "cuMemHostAlloc:2",
    "cuGraphLaunch:1",
    "cuGraphInstantiateWithFlags:2",
    "cuGraphExecUpdate_v2:1",
];

fn op() -> impl Strategy<Value = Op> {
    let (stream, buffer) = (0..STREAMS, 0..BUFFERS);
    let two = (0..BUFFERS, 1..BUFFERS).prop_map(|(from, step)| (from, (from + step) % BUFFERS));
    let value = 1..200u8;
    prop_oneof![
        3 => (buffer.clone(), value.clone()).prop_map(|(to, value)| Op::Write { to, value }),
        1 => buffer.clone().prop_map(|to| Op::Fill { to }),
        2 => (stream.clone(), buffer.clone()).prop_map(|(stream, to)| Op::FillOn { stream, to }),
        4 => buffer.clone().prop_map(|from| Op::Read { from }),
        6 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::Launch { stream, from, to }),
        2 => two.clone().prop_map(|(from, to)| Op::LaunchAndWait { from, to }),
        4 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::Copy { stream, from, to }),
        2 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::CopyPart { stream, from, to }),
        2 => (stream.clone(), buffer.clone(), any::<bool>())
            .prop_map(|(stream, from, look)| Op::Download { stream, from, look }),
        1 => (stream.clone(), buffer.clone(), value.clone())
            .prop_map(|(stream, to, value)| Op::Upload { stream, to, value }),
        2 => (buffer.clone(), value.clone()).prop_map(|(to, value)| Op::Replace { to, value }),
        2 => (stream.clone(), buffer.clone(), value.clone())
            .prop_map(|(stream, to, value)| Op::ReplaceOn { stream, to, value }),
        1 => (stream.clone(), buffer.clone(), value).prop_map(|(stream, to, value)| Op::Free { stream, to, value }),
        1 => (stream.clone(), buffer.clone()).prop_map(|(stream, what)| Op::Move { stream, what }),
        2 => (stream.clone(), two.clone(), any::<bool>())
            .prop_map(|(stream, (from, to), branch)| Op::Capture { stream, from, to, branch }),
        1 => (stream.clone(), two.clone(), any::<bool>())
            .prop_map(|(stream, (from, to), branch)| Op::Update { stream, from, to, branch }),
        1 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::Travel { stream, from, to }),
        1 => (stream.clone(), two).prop_map(|(stream, (from, to))| Op::Manage { stream, from, to }),
        3 => stream.clone().prop_map(|stream| Op::LaunchGraph { stream }),
        1 => Just(Op::DropGraph),
        2 => stream.clone().prop_map(|stream| Op::Synchronize { stream }),
        1 => stream.prop_map(|stream| Op::DropStream { stream }),
        1 => Just(Op::Reload),
        1 => any::<bool>().prop_map(Op::Complete),
    ]
}

/// What one thread does: operations, some with an error.
type Thread = Vec<(Op, Option<usize>)>;

/// A program, and a seed for what is done early.
#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Thread>,
    seed: u64,
}

/// Programs of so many threads, and of about 40 operations altogether.
fn program(threads: usize) -> impl Strategy<Value = Program> {
    let error = prop_oneof![8 => Just(None), 1 => (0..ERRORS.len()).prop_map(Some)];
    let ops = proptest::collection::vec((op(), error), 1..=40 / threads);
    let threads = proptest::collection::vec(ops, threads);
    (threads, any::<u64>()).prop_map(|(threads, seed)| Program { threads, seed })
}

/// What a buffer should have; `None` after an error.
type Values = Option<[f32; LEN]>;

struct Slot {
    buffer: Buffer<f32>,
    values: Values,
    /// Which allocation it is, so that a graph's are known.
    name: u32,
}

/// A slot, with the name that it had.
type Place = (usize, u32);

/// A graph, and the slots that it reads and writes.
struct Held {
    graph: Graph,
    from: Place,
    to: Place,
}

/// Everything that the threads share. What is locked first stands first.
struct World {
    graph: Mutex<Option<Held>>,
    streams: Vec<RwLock<Stream>>,
    slots: Vec<RwLock<Slot>>,
    module: RwLock<Module>,
    device: Device,
    other: Device,
    names: AtomicU32,
    excuses: Excuses,
}

/// Why an operation may fail: the driver was told to, or some buffer is unknown, now or in between.
#[derive(Default)]
struct Excuses {
    now: AtomicUsize,
    ever: AtomicUsize,
}

impl Excuses {
    fn begin(&self) {
        self.now.fetch_add(1, Ordering::SeqCst);
        self.ever.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    /// How many there have been; nothing is remembered of those that there are now.
    fn mark(&self) -> Option<usize> {
        let ever = self.ever.load(Ordering::SeqCst);
        (self.now.load(Ordering::SeqCst) == 0).then_some(ever)
    }

    /// Whether there was one then, or has been one since.
    fn since(&self, mark: Option<usize>) -> bool {
        mark.is_none() || self.mark() != mark
    }
}

fn filled(byte: u8) -> [f32; LEN] {
    [f32::from_le_bytes([byte; 4]); LEN]
}

fn value_of(value: u8) -> [f32; LEN] {
    [f32::from(value); LEN]
}

/// Kept finite, so that equal bits are equal numbers.
fn doubled(values: Values) -> Values {
    values.map(|values| values.map(|value| 2.0 * value))
}

impl World {
    fn new(device: Device, other: Device) -> Result<Self, Error> {
        let module = RwLock::new(device.load(&KERNELS)?);
        let streams = (0..STREAMS).map(|_| device.stream().map(RwLock::new));
        let slots = (0..BUFFERS).map(|index| {
            let values = [1.0 + index as f32; LEN];
            let buffer = Buffer::from_slice(&device, &values)?;
            Ok(RwLock::new(Slot { buffer, values: Some(values), name: index as u32 }))
        });
        Ok(Self {
            graph: Mutex::new(None),
            streams: streams.collect::<Result<_, _>>()?,
            slots: slots.collect::<Result<_, Error>>()?,
            module,
            other,
            names: AtomicU32::new(BUFFERS as u32),
            excuses: Excuses::default(),
            device,
        })
    }

    /// What became of an operation that was to give a buffer these values.
    fn set(&self, slot: &mut Slot, values: Values, done: &Result<(), Error>) {
        let values = values.filter(|_| done.is_ok());
        match (slot.values, values) {
            (Some(_), None) => self.excuses.begin(),
            (None, Some(_)) => self.excuses.end(),
            _ => {}
        }
        slot.values = values;
    }

    fn put(
        &self,
        slot: &mut Slot,
        made: Result<Buffer<f32>, Error>,
        values: [f32; LEN],
    ) -> Result<(), Error> {
        let done = made.map(|buffer| {
            slot.buffer = buffer;
            slot.name = self.names.fetch_add(1, Ordering::SeqCst);
        });
        self.set(slot, Some(values), &done);
        done
    }

    /// An operation that reads one buffer and writes another.
    fn between(
        &self,
        from: usize,
        to: usize,
        values: impl FnOnce(Values, Values) -> Values,
        act: impl FnOnce(&Buffer<f32>, &mut Buffer<f32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (from, mut to) = self.two(from, to);
        let done = act(&from.buffer, &mut to.buffer);
        let values = values(from.values, to.values);
        self.set(&mut to, values, &done);
        done
    }

    /// Two slots, locked in the order of their numbers.
    fn two(
        &self,
        from: usize,
        to: usize,
    ) -> (std::sync::RwLockReadGuard<'_, Slot>, std::sync::RwLockWriteGuard<'_, Slot>) {
        let (read, write) =
            (|| self.slots[from].read().unwrap(), || self.slots[to].write().unwrap());
        if from < to {
            let from = read();
            (from, write())
        } else {
            let to = write();
            (read(), to)
        }
    }

    /// Does one operation. What comes back is its error, the world's model is in step.
    fn act(&self, op: Op) -> Result<(), Error> {
        let stream_of = |stream: usize| self.streams[stream].read().unwrap();
        let slot_of = |slot: usize| self.slots[slot].write().unwrap();
        match op {
            Op::Write { to, value } => {
                let mut slot = slot_of(to);
                let done = slot.buffer.write(&value_of(value));
                self.set(&mut slot, Some(value_of(value)), &done);
                done
            }
            Op::Fill { to } => {
                let mut slot = slot_of(to);
                let done = slot.buffer.fill(0);
                self.set(&mut slot, Some(filled(0)), &done);
                done
            }
            Op::FillOn { stream, to } => {
                let (stream, mut slot) = (stream_of(stream), slot_of(to));
                let done = stream.fill(&mut slot.buffer, 0x3f).map(drop);
                self.set(&mut slot, Some(filled(0x3f)), &done);
                done
            }
            Op::Read { from } => {
                let slot = self.slots[from].read().unwrap();
                let values = slot.buffer.to_vec()?;
                assert!(
                    slot.values.is_none_or(|v| values == v),
                    "stale: {values:?} for {:?}",
                    slot.values
                );
                Ok(())
            }
            Op::Launch { stream, from, to } => {
                let stream = stream_of(stream);
                self.between(
                    from,
                    to,
                    |from, _| doubled(from),
                    |from, to| {
                        let module = self.module.read().unwrap();
                        stream.launch(&module, 1, scale, (read(from), write(to), 2.0)).map(drop)
                    },
                )
            }
            Op::LaunchAndWait { from, to } => self.between(
                from,
                to,
                |from, _| doubled(from),
                |from, to| {
                    let module = self.module.read().unwrap();
                    self.device
                        .launch(&module, 1, scale(from.as_arg(), to.as_arg_mut(), 2.0))
                        .map(drop)
                },
            ),
            Op::Copy { stream, from, to } => {
                let stream = stream_of(stream);
                self.between(from, to, |from, _| from, |from, to| stream.copy(from, to).map(drop))
            }
            Op::CopyPart { stream, from, to } => {
                let stream = stream_of(stream);
                let values = |from: Values, to: Values| {
                    to.zip(from).map(|(to, from)| [to[0], to[1], from[0], from[1]])
                };
                self.between(from, to, values, |from, to| {
                    stream
                        .copy(&from.slice(..2).unwrap(), &mut to.slice_mut(2..).unwrap())
                        .map(drop)
                })
            }
            Op::Download { stream, from, look } => {
                let (stream, slot) = (stream_of(stream), self.slots[from].read().unwrap());
                let mut host = Pinned::zeroed(&self.device, LEN)?;
                stream.download(&slot.buffer, &mut host)?;
                if look {
                    let values = host.as_slice()?;
                    assert!(slot.values.is_none_or(|v| values == v), "a stale download");
                }
                Ok(())
            }
            Op::Upload { stream, to, value } => {
                let (stream, mut slot) = (stream_of(stream), slot_of(to));
                let done = Pinned::from_slice(&self.device, &value_of(value))
                    .and_then(|host| stream.upload(&host, &mut slot.buffer).map(drop));
                self.set(&mut slot, Some(value_of(value)), &done);
                done
            }
            Op::Replace { to, value } => {
                let made = Buffer::from_slice(&self.device, &value_of(value));
                self.put(&mut slot_of(to), made, value_of(value))
            }
            Op::ReplaceOn { stream, to, value } => {
                let stream = stream_of(stream);
                let made = stream.alloc(LEN).and_then(|mut buffer: Buffer<f32>| {
                    stream.fill(&mut buffer, value)?;
                    Ok(buffer)
                });
                self.put(&mut slot_of(to), made, filled(value))
            }
            Op::Free { stream, to, value } => {
                let (stream, mut slot) = (stream_of(stream), slot_of(to));
                let new = Buffer::from_slice(&self.device, &value_of(value))?;
                let old = std::mem::replace(&mut slot.buffer, new);
                slot.name = self.names.fetch_add(1, Ordering::SeqCst);
                self.set(&mut slot, Some(value_of(value)), &Ok(()));
                // Whatever became of the old one, the new one has its values.
                stream.free(old)
            }
            Op::Move { stream, what } => {
                let (stream, mut slot) = (stream_of(stream), slot_of(what));
                let done = stream.resize(&mut slot.buffer, LEN).map(drop);
                if done.is_ok() {
                    slot.name = self.names.fetch_add(1, Ordering::SeqCst);
                }
                let values = slot.values;
                self.set(&mut slot, values, &done);
                done
            }
            Op::Capture { stream, from, to, branch } => {
                let mut held = self.graph.lock().unwrap();
                let (graph, from, to) = self.capture(stream, from, to, branch, None)?;
                *held = graph.map(|graph| Held { graph, from, to });
                Ok(())
            }
            Op::Update { stream, from, to, branch } => {
                let mut held = self.graph.lock().unwrap();
                let Some(held) = &mut *held else { return Ok(()) };
                let captured = self.capture(stream, from, to, branch, Some(&mut held.graph));
                (_, held.from, held.to) = captured?;
                Ok(())
            }
            Op::LaunchGraph { stream } => {
                let mut held = self.graph.lock().unwrap();
                let Some(Held { graph, from, to }) = &mut *held else { return Ok(()) };
                let stream = stream_of(stream);
                let (source, mut target) = self.two(from.0, to.0);
                let done = graph.launch(&stream).map(drop);
                if target.name == to.1 {
                    // What the graph reads may be a buffer that nobody else has any more.
                    let values = doubled(source.values.filter(|_| source.name == from.1));
                    self.set(&mut target, values, &done);
                }
                done
            }
            Op::DropGraph => {
                *self.graph.lock().unwrap() = None;
                Ok(())
            }
            Op::Travel { stream, from, to } => {
                let odd = to % 2 == 1;
                let stream = stream_of(stream);
                self.between(
                    from,
                    to,
                    |from, _| from,
                    |from, to| {
                        let mut there = Buffer::<f32>::zeroed(&self.other, LEN)?;
                        stream.copy(from, &mut there)?;
                        // By the other device's stream, or by this one's.
                        match odd {
                            true => self.other.stream()?.copy(&there, to).map(drop),
                            false => stream.copy(&there, to).map(drop),
                        }
                    },
                )
            }
            Op::Manage { stream, from, to } => {
                let (stream, managed) =
                    (stream_of(stream), Managed::<f32>::zeroed(&self.device, LEN));
                let (from, mut to) = self.two(from, to);
                let done = managed.and_then(|mut managed| {
                    stream.copy(&from.buffer, &mut managed)?;
                    let values = managed.as_mut_slice()?;
                    assert!(from.values.is_none_or(|v| values == v), "stale managed memory");
                    values.iter_mut().for_each(|value| *value *= 2.0);
                    stream.copy(&managed, &mut to.buffer).map(drop)
                });
                self.set(&mut to, doubled(from.values), &done);
                done
            }
            Op::Synchronize { stream } => stream_of(stream).synchronize().map(drop),
            Op::DropStream { stream } => {
                let new = self.device.stream()?;
                *self.streams[stream].write().unwrap() = new;
                Ok(())
            }
            Op::Reload => {
                let new = self.device.load(&KERNELS)?;
                *self.module.write().unwrap() = new;
                Ok(())
            }
            Op::Complete(yes) => {
                if !self.device.is_emulator() {
                    complete(yes);
                }
                Ok(())
            }
        }
    }

    /// Captures a launch, on the stream or on a branch of it, and makes a graph of it or updates the old one; with the slots
    /// and their names.
    fn capture(
        &self,
        stream: usize,
        from: usize,
        to: usize,
        branch: bool,
        old: Option<&mut Graph>,
    ) -> Result<(Option<Graph>, Place, Place), Error> {
        let beside = (stream + 1) % STREAMS;
        let lock = |stream: usize| self.streams[stream].write().unwrap();
        let (mut first, mut second) = if stream < beside {
            let first = lock(stream);
            (first, lock(beside))
        } else {
            let second = lock(beside);
            (lock(stream), second)
        };
        let (source, mut target) = self.two(from, to);
        let places = ((from, source.name), (to, target.name));
        let module = self.module.read().unwrap();
        let second = branch.then_some(&mut *second);
        let (a, b) = (&source.buffer, &mut target.buffer);
        let graph = match old {
            None => Some(first.capture(|capture| self.put_down(capture, second, &module, a, b))?),
            Some(old) => {
                old.update(&mut first, |capture| self.put_down(capture, second, &module, a, b))?;
                None
            }
        };
        Ok((graph, places.0, places.1))
    }

    fn put_down<'s>(
        &self,
        capture: &mut Capture<'_, 's>,
        beside: Option<&'s mut Stream>,
        module: &Module,
        from: &Buffer<f32>,
        to: &mut Buffer<f32>,
    ) -> Result<(), Error> {
        // Another thread goes on, and this one is held back.
        thread::scope(|scope| {
            let elsewhere = scope.spawn(|| {
                Buffer::from_slice(&self.device, &[7.0f32; LEN]).and_then(|new| new.to_vec())
            });
            if let Ok(values) = elsewhere.join().unwrap() {
                assert_eq!(values, [7.0; LEN]);
            }
        });
        assert!(matches!(from.to_vec(), Err(Error::Capturing { .. })));
        match beside {
            None => capture.launch(module, 1, scale, (read(from), write(to), 2.0)),
            Some(beside) => {
                let mut branch = capture.branch(beside)?;
                branch.fill(to, 0)?;
                capture.launch(module, 1, scale, (read(from), write(to), 2.0))
            }
        }
    }

    /// One thread's part of a program.
    fn run(&self, thread: &Thread, errors: bool) {
        for (at, (op, error)) in thread.iter().enumerate() {
            let error = error.filter(|_| errors);
            let before = self.excuses.mark();
            if let Some(error) = error {
                self.excuses.begin();
                fail(ERRORS[error]);
            }
            let done = self.act(*op);
            let excused = self.excuses.since(before);
            if error.is_some() {
                fail("");
                self.excuses.end();
            }
            if let Err(said) = done {
                assert!(excused, "{at}: {op:?} without an error of the driver's: {said}");
            }
        }
    }
}

/// Runs a program, each of its threads with no context current.
fn run(
    device: Device,
    other: Device,
    program: &Program,
    errors: bool,
) -> Result<(), TestCaseError> {
    let failed = |error: Error| TestCaseError::fail(error.to_string());
    let world = World::new(device, other).map_err(failed)?;
    let together = Barrier::new(program.threads.len());
    let panics: Vec<_> = thread::scope(|scope| {
        let threads = program.threads.iter().map(|thread| {
            scope.spawn(|| {
                together.wait();
                world.run(thread, errors);
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().filter_map(|thread| thread.join().err()).collect()
    });
    if errors {
        fail("");
    }
    if let Some(panic) = panics.first() {
        let said = panic.downcast_ref::<String>().cloned();
        return Err(TestCaseError::fail(said.unwrap_or_else(|| "a panic".into())));
    }
    for (index, slot) in world.slots.iter().enumerate() {
        let slot = slot.read().unwrap();
        if let Some(expected) = slot.values {
            let values = slot.buffer.to_vec().map_err(failed)?;
            prop_assert_eq!(values, expected, "buffer {} at the end", index);
        }
    }
    Ok(())
}

fn all(
    name: &str,
    threads: usize,
    sample: u64,
    run: impl Fn(&Program) -> Result<(), TestCaseError>,
) {
    let campaign = Campaign::new(name, sample, 10_000);
    let config = Config {
        cases: campaign.cases() as u32,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &campaign.seed_bytes());
    let ran = TestRunner::new_with_rng(config, rng).run(&program(threads), |program| run(&program));
    match ran {
        Ok(()) => {}
        Err(TestError::Fail(why, program)) => panic!("{why}\n{program:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

fn on_a_hostile_driver(test: &str, name: &str, threads: usize) {
    with(Driver::StandIn, &[("STAND_IN_GPUS", "2")], test, || {
        all(name, threads, 300, |program| {
            // What was asked before is of no interest.
            asked(|| complete(false));
            seed(program.seed);
            let (left, violated) = (allocations(), violations());
            run(Device::gpu(0).unwrap(), Device::gpu(1).unwrap(), program, true)?;
            prop_assert_eq!(violations(), violated);
            prop_assert_eq!(allocations(), left, "something is left");
            Ok(())
        });
    });
}

fn on_emulators(name: &str, threads: usize) {
    all(name, threads, 300, |program| {
        let device = |seed| Device::emulator(EmulatorOptions::default().with_seed(seed));
        run(device(program.seed), device(!program.seed), program, false)
    });
}

#[test]
fn programs_on_a_hostile_driver_do_what_the_model_does() {
    let test = "programs_on_a_hostile_driver_do_what_the_model_does";
    on_a_hostile_driver(test, "programs of host operations on a hostile driver", 1);
}

#[test]
fn programs_of_three_threads_on_a_hostile_driver_do_what_the_model_does() {
    let test = "programs_of_three_threads_on_a_hostile_driver_do_what_the_model_does";
    on_a_hostile_driver(test, "programs of three threads on a hostile driver", 3);
}

#[test]
fn programs_on_the_emulator_do_what_the_model_does() {
    on_emulators("programs of host operations on the emulator", 1);
}

#[test]
fn programs_of_three_threads_on_the_emulator_do_what_the_model_does() {
    on_emulators("programs of three threads on the emulator", 3);
}
