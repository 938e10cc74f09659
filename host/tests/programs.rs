//! Random programs of host operations beside a model that does the same one after the other.
//!
//! Every operation runs on a thread of its own, some of them while another thread captures, some with an error that the
//! driver answers to one of its functions. What is read must be what the model has; after an error, the buffers that
//! were to be written are unknown until they are overwritten, and nothing else is. At the end nothing is left, and the
//! stand-in has seen no use of memory that is not there.

#![cfg(target_os = "linux")]

mod fixture;
mod stand_in;

use std::thread;

use baton_campaign::Campaign;
use baton_host::{
    Buffer, Device, EmulatorOptions, Error, Graph, Module, Pinned, Stream, read, write,
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
    /// A stream is captured, and another operation comes from elsewhere meanwhile.
    Capture {
        stream: usize,
        from: usize,
        to: usize,
        fill: usize,
    },
    LaunchGraph {
        stream: usize,
    },
    DropGraph,
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
const ERRORS: [&str; 14] = [
    "cuEventSynchronize:900",
    "cuEventQuery:900",
    "cuEventRecord:1",
    "cuEventCreate:2",
    "cuStreamWaitEvent:1",
    "cuStreamCreateWithPriority:2",
    "cuMemcpyHtoDAsync_v2:1",
    "cuMemcpyDtoHAsync_v2:1",
    "cuMemsetD8Async:917",
    "cuLaunchKernelEx:701",
    "cuMemAllocAsync:2",
    "cuMemFreeAsync:1",
    "cuMemHostAlloc:2",
    "cuGraphLaunch:1",
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
        2 => (stream.clone(), two, buffer)
            .prop_map(|(stream, (from, to), fill)| Op::Capture { stream, from, to, fill }),
        3 => stream.clone().prop_map(|stream| Op::LaunchGraph { stream }),
        1 => Just(Op::DropGraph),
        2 => stream.clone().prop_map(|stream| Op::Synchronize { stream }),
        1 => stream.prop_map(|stream| Op::DropStream { stream }),
        1 => Just(Op::Reload),
        1 => any::<bool>().prop_map(Op::Complete),
    ]
}

/// A program: operations, each with the error that comes with it, and a seed for what is done early.
#[derive(Clone, Debug)]
struct Program {
    ops: Vec<(Op, Option<usize>)>,
    seed: u64,
}

fn program() -> impl Strategy<Value = Program> {
    let error = prop_oneof![8 => Just(None), 1 => (0..ERRORS.len()).prop_map(Some)];
    let ops = proptest::collection::vec((op(), error), 1..40);
    (ops, any::<u64>()).prop_map(|(ops, seed)| Program { ops, seed })
}

/// What a buffer should have; `None` after an error.
type Values = Option<[f32; LEN]>;

struct World {
    device: Device,
    module: Module,
    streams: Vec<Stream>,
    buffers: Vec<Buffer<f32>>,
    values: Vec<Values>,
    /// Which allocation each is, so that a graph's are known.
    names: Vec<u32>,
    graph: Option<(Graph, u32, u32)>,
    next: u32,
}

fn filled(byte: u8) -> [f32; LEN] {
    [f32::from_le_bytes([byte; 4]); LEN]
}

impl World {
    fn new(device: Device) -> Result<Self, Error> {
        let module = device.load(&KERNELS)?;
        let streams = (0..STREAMS).map(|_| device.stream()).collect::<Result<_, _>>()?;
        let values: Vec<_> = (0..BUFFERS).map(|index| Some([1.0 + index as f32; LEN])).collect();
        let buffers = values.iter().map(|v| Buffer::from_slice(&device, &v.unwrap()));
        let buffers = buffers.collect::<Result<_, _>>()?;
        let names = (0..BUFFERS as u32).collect();
        Ok(Self { device, module, streams, buffers, values, names, graph: None, next: 100 })
    }

    /// Does it, and says which buffers it was to write, with what they should have then.
    fn act(&mut self, op: Op) -> (Result<(), Error>, Vec<(usize, Values)>) {
        let doubled = |values: Values| values.map(|values| values.map(|value| 2.0 * value));
        let value_of = |value: u8| [f32::from(value); LEN];
        match op {
            Op::Write { to, value } => {
                let done = self.buffers[to].write(&value_of(value));
                (done, vec![(to, Some(value_of(value)))])
            }
            Op::Fill { to } => (self.buffers[to].fill(0x3f), vec![(to, Some(filled(0x3f)))]),
            Op::FillOn { stream, to } => {
                let done = self.streams[stream].fill(&mut self.buffers[to], 0x40);
                (done.map(drop), vec![(to, Some(filled(0x40)))])
            }
            Op::Read { from } => {
                let done = self.buffers[from].to_vec().map(|values| {
                    if let Some(expected) = self.values[from] {
                        assert_eq!(values, expected, "a stale read of buffer {from}");
                    }
                });
                (done, vec![])
            }
            Op::Launch { stream, from, to } => {
                let after = doubled(self.values[from]);
                let Self { streams, module, buffers, .. } = self;
                let [a, b] = buffers.get_disjoint_mut([from, to]).unwrap();
                let done = streams[stream].launch(module, 1, scale, (read(a), write(b), 2.0));
                (done.map(drop), vec![(to, after)])
            }
            Op::LaunchAndWait { from, to } => {
                let after = doubled(self.values[from]);
                let (device, module) = (self.device.clone(), &self.module);
                let [a, b] = self.buffers.get_disjoint_mut([from, to]).unwrap();
                let done = device.launch(module, 1, scale(a.as_arg(), b.as_arg_mut(), 2.0));
                (done.map(drop), vec![(to, after)])
            }
            Op::Copy { stream, from, to } => {
                let after = self.values[from];
                let [a, b] = self.buffers.get_disjoint_mut([from, to]).unwrap();
                (self.streams[stream].copy(a, b).map(drop), vec![(to, after)])
            }
            Op::CopyPart { stream, from, to } => {
                let after = self.values[to].zip(self.values[from]);
                let after = after.map(|(to, from)| [to[0], to[1], from[0], from[1]]);
                let [a, b] = self.buffers.get_disjoint_mut([from, to]).unwrap();
                let (part, mut into) = (a.slice(..2).unwrap(), b.slice_mut(2..).unwrap());
                (self.streams[stream].copy(&part, &mut into).map(drop), vec![(to, after)])
            }
            Op::Download { stream, from, look } => {
                let expected = self.values[from];
                let done = Pinned::zeroed(&self.device, LEN).and_then(|mut host| {
                    self.streams[stream].download(&self.buffers[from], &mut host)?;
                    if look {
                        let values = host.as_slice()?;
                        assert!(expected.is_none_or(|v| values == v), "a stale download");
                    }
                    Ok(())
                });
                (done, vec![])
            }
            Op::Upload { stream, to, value } => {
                let done = Pinned::from_slice(&self.device, &value_of(value))
                    .and_then(|host| self.streams[stream].upload(&host, &mut self.buffers[to]));
                (done.map(drop), vec![(to, Some(value_of(value)))])
            }
            Op::Replace { to, value } => {
                let made = Buffer::from_slice(&self.device, &value_of(value));
                (self.replace(to, made), vec![(to, Some(value_of(value)))])
            }
            Op::ReplaceOn { stream, to, value } => {
                let stream = &self.streams[stream];
                let made = stream.alloc(LEN).and_then(|mut buffer: Buffer<f32>| {
                    stream.fill(&mut buffer, value)?;
                    Ok(buffer)
                });
                (self.replace(to, made), vec![(to, Some(filled(value)))])
            }
            Op::Free { stream, to, value } => {
                let made = Buffer::from_slice(&self.device, &value_of(value));
                let done = made.and_then(|new| {
                    let old = std::mem::replace(&mut self.buffers[to], new);
                    self.renamed(to);
                    self.values[to] = Some(value_of(value));
                    self.streams[stream].free(old)
                });
                // Whatever became of the old one, the new one has its values, or is the old one.
                (done.or(Ok(())), vec![(to, self.values[to])])
            }
            Op::Move { stream, what } => {
                let done = self.streams[stream].resize(&mut self.buffers[what], LEN);
                if done.is_ok() {
                    self.renamed(what);
                }
                (done.map(drop), vec![(what, self.values[what])])
            }
            Op::Capture { stream, from, to, fill } => self.capture(stream, from, to, fill),
            Op::LaunchGraph { stream } => {
                let Some((graph, from, to)) = &mut self.graph else { return (Ok(()), vec![]) };
                let place = |name: u32| self.names.iter().position(|known| *known == name);
                let (from, to) = (place(*from), place(*to));
                let done = graph.launch(&self.streams[stream]).map(drop);
                let written = to.map(|to| (to, from.and_then(|from| doubled(self.values[from]))));
                // What the graph reads may be a buffer that nobody else has any more.
                (done, written.into_iter().collect())
            }
            Op::DropGraph => {
                self.graph = None;
                (Ok(()), vec![])
            }
            Op::Synchronize { stream } => (self.streams[stream].synchronize().map(drop), vec![]),
            Op::DropStream { stream } => {
                let made = self.device.stream().map(|new| self.streams[stream] = new);
                (made, vec![])
            }
            Op::Reload => (self.device.load(&KERNELS).map(|new| self.module = new), vec![]),
            Op::Complete(yes) => {
                if !self.device.is_emulator() {
                    complete(yes);
                }
                (Ok(()), vec![])
            }
        }
    }

    fn replace(&mut self, to: usize, made: Result<Buffer<f32>, Error>) -> Result<(), Error> {
        self.buffers[to] = made?;
        self.renamed(to);
        Ok(())
    }

    fn renamed(&mut self, which: usize) {
        self.next += 1;
        self.names[which] = self.next;
    }

    fn capture(
        &mut self,
        stream: usize,
        from: usize,
        to: usize,
        fill: usize,
    ) -> (Result<(), Error>, Vec<(usize, Values)>) {
        let names = (self.names[from], self.names[to]);
        let (device, module) = (self.device.clone(), &self.module);
        let [a, b] = self.buffers.get_disjoint_mut([from, to]).unwrap();
        let made = self.streams[stream].capture(|capture| {
            // Another thread goes on, and this one is held back.
            thread::scope(|scope| {
                let elsewhere = scope.spawn(|| {
                    Buffer::from_slice(&device, &[fill as f32; LEN]).and_then(|new| new.to_vec())
                });
                if let Ok(values) = elsewhere.join().unwrap() {
                    assert_eq!(values, [fill as f32; LEN]);
                }
            });
            assert!(matches!(a.to_vec(), Err(Error::Capturing { .. })));
            capture.launch(module, 1, scale, (read(a), write(b), 2.0))
        });
        let done = made.map(|graph| self.graph = Some((graph, names.0, names.1)));
        (done, vec![])
    }
}

/// Runs a program.
fn run(device: Device, program: &Program, errors: bool) -> Result<(), TestCaseError> {
    let mut world = World::new(device).map_err(|error| TestCaseError::fail(error.to_string()))?;
    for (at, (op, error)) in program.ops.iter().enumerate() {
        let error = error.filter(|_| errors);
        if let Some(error) = error {
            fail(ERRORS[error]);
        }
        let known = world.values.clone();
        // A thread of its own, with no context current.
        let acted = thread::scope(|scope| scope.spawn(|| world.act(*op)).join());
        if error.is_some() {
            fail("");
        }
        let (done, written) = acted.map_err(|panic| {
            let said = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            TestCaseError::fail(format!("{at}: {op:?}: {said}"))
        })?;
        let was_known = written.iter().all(|(to, _)| known[*to].is_some());
        for (to, values) in written {
            world.values[to] = values.filter(|_| done.is_ok());
        }
        match done {
            Ok(()) => {}
            // Whoever reads what an error has left is told so.
            Err(Error::ContentsUnknown { .. }) if known.contains(&None) => {}
            Err(said) if error.is_none() => {
                let lost = known.contains(&None) || !was_known;
                prop_assert!(lost, "{at}: {op:?} without an error of the driver's: {said}");
            }
            Err(_) => {}
        }
    }
    for (index, expected) in world.values.iter().enumerate() {
        if let Some(expected) = expected {
            let values = world.buffers[index].to_vec();
            let values = values.map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(values, expected, "buffer {} at the end", index);
        }
    }
    Ok(())
}

fn all(name: &str, sample: u64, run: impl Fn(&Program) -> Result<(), TestCaseError>) {
    let campaign = Campaign::new(name, sample, 10_000);
    let config = Config {
        cases: campaign.cases() as u32,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &campaign.seed_bytes());
    match TestRunner::new_with_rng(config, rng).run(&program(), |program| run(&program)) {
        Ok(()) => {}
        Err(TestError::Fail(why, program)) => panic!("{why}\n{program:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

#[test]
fn programs_on_a_hostile_driver_do_what_the_model_does() {
    let test = "programs_on_a_hostile_driver_do_what_the_model_does";
    with(Driver::StandIn, &[], test, || {
        all("programs of host operations on a hostile driver", 300, |program| {
            // What was asked before is of no interest.
            asked(|| complete(false));
            seed(program.seed);
            let (left, violated) = (allocations(), violations());
            run(Device::gpu(0).unwrap(), program, true)?;
            prop_assert_eq!(violations(), violated);
            prop_assert_eq!(allocations(), left, "something is left");
            Ok(())
        });
    });
}

#[test]
fn programs_on_the_emulator_do_what_the_model_does() {
    all("programs of host operations on the emulator", 300, |program| {
        let options = EmulatorOptions::default().with_seed(program.seed);
        run(Device::emulator(options), program, false)
    });
}
