//! What a program works on, beside the model of it.

use std::cmp::Ordering as CmpOrdering;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

use baton::launch::Shape;
use baton_host::reservation::ContextId;
use baton_host::{
    Buffer, Capture, Device, Error, Graph, Managed, Matrix, Module, Pinned, Stream, StreamFence,
    read, write,
};

use crate::fixture::{KERNELS, SHAPE, block_on, scale, scale_of};
use crate::operations::{BUFFERS, Captured, LEN, Op, STREAMS, Thread};
use crate::stand_in::{complete, fail, refusals};

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
    /// Whether it copies, or doubles.
    copies: bool,
}

/// Everything that the threads share. What is locked first stands first.
pub struct World {
    graph: Mutex<Option<Held>>,
    streams: Vec<RwLock<Stream>>,
    slots: Vec<RwLock<Slot>>,
    module: RwLock<Module>,
    device: Device,
    other: Device,
    names: AtomicU32,
    unknown: Unknown,
    callbacks: Callbacks,
    /// Streams whose captures the driver may not have ended.
    captured: [AtomicBool; STREAMS],
    /// An error was wished for after which the context is lost.
    lost: AtomicBool,
    /// Two were, after which nobody can say when a stream's work has ended.
    unsure: AtomicBool,
}

/// Which operations may meet buffers of unknown contents: there are some, or were in between.
#[derive(Default)]
struct Unknown {
    now: AtomicUsize,
    ever: AtomicUsize,
}

impl Unknown {
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

/// Callbacks, in the order in which they were called, and those that were given.
#[derive(Default)]
struct Callbacks {
    called: Arc<Mutex<Vec<u32>>>,
    given: Mutex<Vec<Given>>,
}

struct Given {
    id: u32,
    /// Who gave it, and to which stream.
    of: (ThreadId, ContextId),
    /// None after an error: it may be on its way even so.
    fence: Option<StreamFence>,
}

impl Callbacks {
    /// Each that was given is called once, and those that one thread gave to one stream in their order.
    fn check(&self) {
        let given = self.given.lock().unwrap();
        let ended = |fence: &Option<StreamFence>| {
            fence.as_ref().is_some_and(|fence| fence.synchronize().is_ok())
        };
        let ended: Vec<bool> = given.iter().map(|given| ended(&given.fence)).collect();
        let called = self.called.lock().unwrap();
        let mut last = HashMap::new();
        for (Given { id, of, .. }, ended) in given.iter().zip(ended) {
            let mut places = called.iter().enumerate().filter(|(_, called)| *called == id);
            let place = places.next().map(|(place, _)| place);
            assert!(places.next().is_none(), "callback {id} was called twice");
            assert!(place.is_some() || !ended, "callback {id} was not called");
            if let Some(place) = place {
                let before = last.insert(*of, place);
                assert!(before.is_none_or(|before| before < place), "{id} was called too early");
            }
        }
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

/// How many calls were refused; an emulator refuses none.
fn refusals_of(device: &Device) -> usize {
    if device.is_emulator() { 0 } else { refusals() }
}

impl World {
    pub fn new(device: Device, other: Device) -> Result<Self, Error> {
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
            unknown: Unknown::default(),
            callbacks: Callbacks::default(),
            captured: Default::default(),
            lost: AtomicBool::new(false),
            unsure: AtomicBool::new(false),
            device,
        })
    }

    /// What became of an operation that was to give a buffer these values.
    fn set(&self, slot: &mut Slot, values: Values, done: &Result<(), Error>) {
        let values = values.filter(|_| done.is_ok());
        match (slot.values, values) {
            (Some(_), None) => self.unknown.begin(),
            (None, Some(_)) => self.unknown.end(),
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
    ) -> (RwLockReadGuard<'_, Slot>, RwLockWriteGuard<'_, Slot>) {
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
            Op::LaunchAndWait { from, to, shared } => self.between(
                from,
                to,
                |from, _| doubled(from),
                |from, to| {
                    let module = self.module.read().unwrap();
                    let dynamic_shared = if shared { 64 << 10 } else { 0 };
                    let shape = Shape { dynamic_shared, ..SHAPE };
                    let call = scale_of(shape, from.as_arg(), to.as_arg_mut(), 2.0);
                    self.device.launch(&module, 1, call).map(drop)
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
            Op::Capture { stream, from, to, what } => {
                let mut held = self.graph.lock().unwrap();
                let (graph, from, to) = self.capture(stream, from, to, what, None)?;
                *held = graph.map(|graph| Held { graph, from, to, copies: what.rows });
                Ok(())
            }
            Op::Update { stream, from, to, what } => {
                let mut held = self.graph.lock().unwrap();
                let Some(held) = &mut *held else { return Ok(()) };
                let captured = self.capture(stream, from, to, what, Some(&mut held.graph));
                (_, held.from, held.to) = captured?;
                held.copies = what.rows;
                Ok(())
            }
            Op::LaunchGraph { stream } => {
                let mut held = self.graph.lock().unwrap();
                let Some(Held { graph, from, to, copies }) = &mut *held else { return Ok(()) };
                let stream = stream_of(stream);
                let (source, mut target) = self.two(from.0, to.0);
                let done = graph.launch(&stream).map(drop);
                if target.name == to.1 {
                    // What the graph reads may be a buffer that nobody else has any more.
                    let values = source.values.filter(|_| source.name == from.1);
                    let values = if *copies { values } else { doubled(values) };
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
            Op::DropStream { stream, priority } => {
                let new = self.device.stream_of_priority(priority)?;
                let mut place = self.streams[stream].write().unwrap();
                *place = new;
                self.captured[stream].store(false, Ordering::SeqCst);
                Ok(())
            }
            Op::CopyRows { stream, from, to } => {
                let stream = stream_of(stream);
                let values = |from: Values, to: Values| {
                    to.zip(from).map(|(to, from)| [from[0], to[1], to[2], from[2]])
                };
                self.between(from, to, values, |from, to| {
                    let rows = Matrix::new(2, 1);
                    let (from, to) = ((from, rows.with_pitch(2)), (to, rows.with_pitch(3)));
                    stream.copy_matrix(from, to).map(drop)
                })
            }
            Op::ReadPart { from } => {
                let slot = self.slots[from].read().unwrap();
                let values = slot.buffer.slice(1..3)?.to_vec()?;
                assert!(slot.values.is_none_or(|v| values == v[1..3]), "a stale part");
                Ok(())
            }
            Op::WritePart { to, value } => {
                let mut slot = slot_of(to);
                let part = slot.buffer.slice_mut(2..);
                let done = part.and_then(|mut part| part.write(&[f32::from(value); 2]));
                let value = f32::from(value);
                let values = slot.values.map(|values| [values[0], values[1], value, value]);
                self.set(&mut slot, values, &done);
                done
            }
            Op::CallBack { stream } => self.call_back(&stream_of(stream)),
            Op::Await { stream } => {
                let fence = stream_of(stream).record()?;
                let mut future = pin!(fence.clone().into_future());
                let mut context = Context::from_waker(Waker::noop());
                if let Poll::Ready(ended) = future.as_mut().poll(&mut context) {
                    return ended;
                }
                // The stand-in does nothing unless somebody waits for it in earnest.
                fence.synchronize()?;
                block_on(future)
            }
            Op::WaitFor { stream, other } => {
                let (a, b) = (stream_of(stream.min(other)), stream_of(stream.max(other)));
                match stream.cmp(&other) {
                    CmpOrdering::Less => a.wait_for(&b.record()?),
                    CmpOrdering::Greater => b.wait_for(&a.record()?),
                    CmpOrdering::Equal => Ok(()),
                }
            }
            Op::UploadGraph { stream } => {
                let mut held = self.graph.lock().unwrap();
                let Some(held) = &mut *held else { return Ok(()) };
                held.graph.upload(&stream_of(stream)).map(drop)
            }
            Op::StoreMaps { of } => {
                let slot = self.slots[of].read().unwrap();
                drop(slot.buffer.tiled(&[LEN as u64], &[LEN as u32]).encode()?.store()?);
                slot.buffer.im2col(&[LEN as u64, 1, 1], LEN as u32, 1).encode()?.store().map(drop)
            }
            Op::Occupancy => {
                let module = self.module.read().unwrap();
                let input = self.slots[0].read().unwrap();
                let mut output = Buffer::<f32>::alloc(&self.device, LEN)?;
                let mut shape = |cluster| {
                    let shape = Shape { cluster, ..SHAPE };
                    let call = scale_of(shape, input.buffer.as_arg(), output.as_arg_mut(), 1.0);
                    self.device.occupancy(&module, &call).map(drop)
                };
                shape(None)?;
                shape(Some([2, 1, 1]))
            }
            Op::Open => {
                if self.device.is_emulator() {
                    return Ok(());
                }
                assert!(!Device::list().is_empty());
                Device::gpu(1)?.stream().map(drop)
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
        what: Captured,
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
        let second = what.branch.then_some(&mut *second);
        let (a, b) = (&source.buffer, &mut target.buffer);
        let done = match old {
            None => first
                .capture(|capture| self.put_down(capture, second, &module, a, b, what.rows))
                .map(Some),
            Some(old) => old
                .update(&mut first, |capture| {
                    self.put_down(capture, second, &module, a, b, what.rows)
                })
                .map(|_| None),
        };
        if done.is_err() {
            for stream in [stream, beside] {
                self.captured[stream].store(true, Ordering::SeqCst);
            }
        }
        Ok((done?, places.0, places.1))
    }

    fn put_down<'s>(
        &self,
        capture: &mut Capture<'_, 's>,
        beside: Option<&'s mut Stream>,
        module: &Module,
        from: &Buffer<f32>,
        to: &mut Buffer<f32>,
        rows: bool,
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
        if let Some(beside) = beside {
            capture.branch(beside)?.fill(to, 0)?;
        }
        if rows {
            let all = Matrix::new(2, 2);
            return capture.copy_matrix((from, all), (to, all));
        }
        capture.launch(module, 1, scale, (read(from), write(to), 2.0))
    }

    /// Its callback is not let do anything on the device.
    fn call_back(&self, stream: &Stream) -> Result<(), Error> {
        let id = self.names.fetch_add(1, Ordering::SeqCst);
        let (called, device) = (Arc::clone(&self.callbacks.called), self.device.clone());
        let given = stream.call_back(move || {
            if matches!(device.stream(), Err(Error::InCallback { .. })) {
                called.lock().unwrap().push(id);
            }
        });
        let (fence, done) = match given {
            Ok(fence) => (Some(fence), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let of = (thread::current().id(), stream.context());
        self.callbacks.given.lock().unwrap().push(Given { id, of, fence });
        done
    }

    /// One thread's part of a program. An operation may fail if a call of the driver's was refused meanwhile.
    pub fn run(&self, thread: &Thread, errors: bool) {
        for (at, (op, trouble)) in thread.iter().enumerate() {
            let trouble = trouble.filter(|_| errors);
            let refused = || refusals_of(&self.device);
            let (unknown, before) = (self.unknown.mark(), refused());
            if let Some(trouble) = trouble {
                self.lost.fetch_or(trouble.is_terminal(), Ordering::SeqCst);
                fail(&trouble.wish());
            }
            let done = self.act(*op);
            if trouble.is_some() {
                fail("");
            }
            let Err(said) = done else { continue };
            let excused = match &said {
                _ if refused() != before || self.lost.load(Ordering::SeqCst) => true,
                Error::ContentsUnknown { .. } => self.unknown.since(unknown),
                Error::WorkFailed { .. } => self.unsure.load(Ordering::SeqCst),
                Error::StillCaptured { .. } => {
                    self.captured.iter().any(|captured| captured.load(Ordering::SeqCst))
                }
                _ => false,
            };
            assert!(excused, "{at}: {op:?} without an error of the driver's: {said}");
        }
    }

    /// A call that comes may end the context.
    pub fn may_be_lost(&self, lost: bool) {
        self.lost.store(lost, Ordering::SeqCst);
    }

    /// Streams may have work of which nobody can say when it ends, and take no more.
    pub fn streams_may_fail(&self, may: bool) {
        self.unsure.store(may, Ordering::SeqCst);
    }

    /// What was there at the end. Whatever the driver did not say is known of a device that is lost.
    pub fn check(&self) {
        let before = refusals_of(&self.device);
        let excused = || self.lost.load(Ordering::SeqCst) || refusals_of(&self.device) != before;
        for (index, slot) in self.slots.iter().enumerate() {
            let slot = slot.read().unwrap();
            let Some(expected) = slot.values else { continue };
            match slot.buffer.to_vec() {
                Ok(values) => assert_eq!(values, expected, "buffer {index} at the end"),
                Err(error) => assert!(excused(), "buffer {index} at the end: {error}"),
            }
        }
        self.callbacks.check();
    }
}
