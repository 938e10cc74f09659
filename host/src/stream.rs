//! Streams: work that is done in order, beside that of other streams.
//!
//! A [`Stream`] takes launches, copies and fills, and returns before they are done. What they touch is
//! given as [`read(&buffer)`](read) or [`write(&mut buffer)`](write()), and that is all there is to say
//! about order: the stream is told to wait for exactly what the buffers' reservations say (see
//! [`reservation`](crate::reservation)).
//!
//! - *One wait for each other stream* at most, and none for the stream's own work, which is in order
//!   anyway.
//! - *A launch that is refused* leaves nothing behind that anybody would wait for.
//! - *Nothing is freed in use.* A buffer, a module or a stream may be dropped while work goes on.
//! - *What fails is known.* The contents of a buffer whose writer failed are refused until all of them
//!   have been overwritten.
//!
//! Only what says so waits on the host: `synchronize`, and the copies of a [`Buffer`](crate::Buffer) or
//! [`Pinned`](crate::Pinned) to where the host sees them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton::launch::{DeviceId, DeviceValue};

use crate::arguments::{Arguments, KernelTaking};
use crate::buffer::Buffer;
use crate::capturing;
use crate::device::Device;
use crate::driver::Want;
use crate::error::Error;
use crate::fence::StreamFence;
use crate::grid::Grid;
use crate::lane::Lane;
use crate::memory::{Allocation, Resource};
use crate::module::Module;
use crate::operation::Operation;
use crate::pinned::Pinned;
use crate::report::StreamReport;
use crate::reservation::{Access, ContextId, Waited};
use crate::tensor_map::Matrix;
use crate::view::{Readable, Writable};

/// An order of work on a device. Made by [`Device::stream`].
///
/// ```no_run
/// # mod scale_kernel {
/// #     use baton::prelude::*;
/// #     #[baton::kernel(threads = 32)]
/// #     pub fn scale(cta: Cta<'_, NoShared, 32>, input: ReadOnly<f32>, output: GlobalPtr<f32>, factor: f32) -> Exit<'_> {
/// #         let mut mine = output.partition(&cta);
/// #         let index = mine.index(0);
/// #         if index < input.len() {
/// #             mine.put(0, factor * input.get(index));
/// #         }
/// #         let (cta, ()) = cta.claim();
/// #         cta.join().exit(())
/// #     }
/// # }
/// # use baton_host::{Buffer, Device, Module, read, write};
/// # fn beside(device: &Device, module: Module) -> Result<(), baton_host::Error> {
/// # let mut a = Buffer::from_slice(device, &[1.0f32; 256])?;
/// # let (mut b, mut c) = (Buffer::poisoned(device, 256)?, Buffer::poisoned(device, 256)?);
/// let (first, second) = (device.stream()?, device.stream()?);
/// first.launch(&module, 64, scale_kernel::scale, (read(&a), write(&mut b), 2.0))?;
/// second.launch(&module, 64, scale_kernel::scale, (read(&a), write(&mut c), 3.0))?; // beside the first
/// first.fill(&mut a, 0)?;   // waits for the second stream, which reads `a`
/// let values = c.to_vec()?; // waits on the host for what writes `c`
/// # Ok(())
/// # }
/// ```
///
/// It may be used from several threads; each piece of work has its place in the order from when it was
/// given. Dropped, it still does all that it was given.
pub struct Stream {
    device: Device,
    lane: Arc<Lane>,
}

impl Device {
    /// A new stream: work that is given to it is done in order, and beside that of other streams.
    pub fn stream(&self) -> Result<Stream, Error> {
        self.stream_of_priority(0)
    }

    /// A new stream whose work goes first where the device has to choose: greater goes first, 0 is usual, and a device
    /// that has no such priority takes its nearest. It is a hint: order is what buffers and waits say. An emulator's
    /// seed chooses, whatever the priority.
    pub fn stream_of_priority(&self, priority: i32) -> Result<Stream, Error> {
        capturing::forbid("making a stream")?;
        let lane = self.lane(Want { priority, ..Want::default() })?;
        Ok(Stream { device: self.clone(), lane })
    }

    /// This thread's own stream of the device: the same one each time, as long as somebody keeps it.
    ///
    /// Streams of two threads are two streams, so what they do to the same buffer is ordered as for any
    /// others.
    pub fn thread_stream(&self) -> Result<Rc<Stream>, Error> {
        thread_local! {
            static STREAMS: RefCell<HashMap<DeviceId, Weak<Stream>>> = RefCell::default();
        }
        let known = STREAMS.try_with(|streams| {
            let mut streams = streams.borrow_mut();
            streams.retain(|_, stream| stream.strong_count() > 0);
            streams.get(&self.id()).and_then(Weak::upgrade)
        });
        if let Ok(Some(stream)) = known {
            return Ok(stream);
        }
        let stream = Rc::new(self.stream()?);
        // A thread that is ending keeps no list any more.
        let _ = STREAMS.try_with(|streams| {
            streams.borrow_mut().insert(self.id(), Rc::downgrade(&stream));
        });
        Ok(stream)
    }
}

impl Stream {
    pub(crate) fn from_lane(device: &Device, lane: Arc<Lane>) -> Self {
        Self { device: device.clone(), lane }
    }

    /// Launches a kernel on `grid` CTAs.
    ///
    /// `kernel` is the function that `#[baton::kernel]` made for the host, and `arguments` are its
    /// arguments as a tuple, buffers as [`read`](crate::read) or [`write`](crate::write()), tensor maps as [`read_tiles`](crate::read_tiles) or
    /// [`write_tiles`](crate::write_tiles), and a protocol as a tuple of [`zeroed`](crate::zeroed) words and its array.
    ///
    /// The borrows of the buffers end when this returns, and the kernel may not have begun. That is
    /// safe, because everything that can reach a buffer asks its reservation first.
    pub fn launch<'a, Hosts, K, A>(
        &self,
        module: &Module,
        grid: impl Into<Grid>,
        kernel: K,
        arguments: A,
    ) -> Result<StreamFence, Error>
    where
        K: KernelTaking<'a, Hosts>,
        A: Arguments<'a, Hosts>,
    {
        self.give(Operation::launch(&self.device, module, grid.into(), kernel, arguments)?)
    }

    /// Copies all of `from` to `to`, which must have as many elements: buffers, or parts of them.
    ///
    /// One of them may be another device's: another GPU's, if this is a GPU, or another emulator's. The copy waits for
    /// what that device does with it too, and that device's work for the copy.
    pub fn copy<T: DeviceValue>(
        &self,
        from: &impl Readable<Value = T>,
        to: &mut impl Writable<Value = T>,
    ) -> Result<StreamFence, Error> {
        self.give(Operation::copy(&self.device, from.view(), to.view_mut())?)
    }

    /// Copies the rows of a matrix, each with a pitch of its own on both sides; what is between the rows of `to` stays.
    pub fn copy_matrix<T: DeviceValue>(
        &self,
        (from, source): (&impl Readable<Value = T>, Matrix),
        (to, destination): (&mut impl Writable<Value = T>, Matrix),
    ) -> Result<StreamFence, Error> {
        let (from, to) = ((from.view(), source), (to.view_mut(), destination));
        self.give(Operation::copy_matrix(&self.device, from, to)?)
    }

    /// Sets every byte of a buffer, or of a part of one.
    pub fn fill(&self, memory: &mut impl Writable, byte: u8) -> Result<StreamFence, Error> {
        self.give(Operation::fill(&self.device, memory.view_mut(), byte)?)
    }

    /// Copies all of `from` to the device.
    pub fn upload<T: DeviceValue>(
        &self,
        from: &Pinned<T>,
        to: &mut impl Writable<Value = T>,
    ) -> Result<StreamFence, Error> {
        self.give(Operation::upload(&self.device, from, to.view_mut())?)
    }

    /// Copies all of `from` to the host.
    pub fn download<T: DeviceValue>(
        &self,
        from: &impl Readable<Value = T>,
        to: &mut Pinned<T>,
    ) -> Result<StreamFence, Error> {
        self.give(Operation::download(&self.device, from.view(), to)?)
    }

    /// Room for `len` values with whatever bytes were there, in the order of this stream: others wait
    /// until it is there.
    pub fn alloc<T: DeviceValue>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Buffer::beginning(&self.device, &self.lane, len, |_, _| Ok(())).map(|(buffer, _)| buffer)
    }

    /// Frees a buffer in the order of this stream, behind all work that touches it.
    ///
    /// Dropping does that too, in the order of the stream that has used it; this is for where several have.
    pub fn free<T>(&self, buffer: Buffer<T>) -> Result<(), Error> {
        self.own(buffer.device(), "freeing")?;
        let Some(allocation) = Arc::into_inner(buffer.into_allocation()) else { return Ok(()) };
        if !allocation.is_of_a_pool() {
            return Ok(());
        }
        let freed = Cell::new(false);
        let touched = [(allocation.reservation(), Access::Move)];
        let submitted = self.lane.submit(&touched, "free", |giver| {
            giver.give(|queue| queue.free(allocation.address()))?;
            freed.set(true);
            Ok(())
        });
        if freed.get() {
            allocation.forget();
        }
        submitted.map(drop)
    }

    /// Moves a buffer to memory for `len` values. What fits is copied; further bytes are whatever was
    /// there.
    pub fn resize<T: DeviceValue>(
        &self,
        buffer: &mut Buffer<T>,
        len: usize,
    ) -> Result<StreamFence, Error> {
        self.own(buffer.device(), "moving")?;
        let bytes = Buffer::<T>::size(len)?;
        let (from, kept) = (buffer.address(), bytes.min(buffer.bytes()));
        let old = Arc::clone(buffer.allocation());
        let (allocation, _) =
            Allocation::new(&self.device, &self.lane, bytes, "allocate", |_, _| Ok(()))?;
        let touched = [(old.reservation(), Access::Move), (allocation.reservation(), Access::Move)];
        let ((), fence) = self.lane.submit(&touched, "move", |giver| match kept {
            0 => Ok(()),
            _ => giver.give(|queue| queue.copy(from, allocation.address(), kept)),
        })?;
        if let Some(failure) = old.reservation().failure() {
            allocation.reservation().lock().fail(failure);
        }
        *buffer = Buffer::from_allocation(Arc::new(allocation), len);
        Ok(fence)
    }

    /// Work that the stream is given from now on waits for `fence`.
    ///
    /// For work that touches the same buffers this is not needed.
    pub fn wait_for(&self, fence: &StreamFence) -> Result<(), Error> {
        self.lane.wait_for(fence)
    }

    /// The end of all that the stream was given so far.
    pub fn record(&self) -> Result<StreamFence, Error> {
        self.lane.submit(&[], "record", |_| Ok(())).map(|((), fence)| fence)
    }

    /// Calls `callback` when everything has ended that the stream was given so far; what it is given later comes after
    /// the callback.
    ///
    /// It runs on a thread of the driver's, or on the emulator on one that waits. It may not give work to a device or
    /// wait for one, which is an [`Error::InCallback`]; buffers that it drops are given back later. Behind work that
    /// failed it is dropped without being called. A panic in it ends it and nothing else.
    pub fn call_back(
        &self,
        callback: impl FnOnce() + Send + 'static,
    ) -> Result<StreamFence, Error> {
        // What it has is the caller's: if it is refused, it is dropped here, where nothing is locked.
        let callback = Arc::new(Mutex::new(Some(callback)));
        let call = {
            let callback = Arc::clone(&callback);
            move || {
                let callback = callback.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(callback) = callback {
                    callback();
                }
            }
        };
        let given = self
            .lane
            .submit(&[], "callback", |giver| giver.give(|queue| queue.callback(Box::new(call))));
        given.map(|((), fence)| fence)
    }

    /// Waits on the host until everything has ended that the stream was given so far.
    ///
    /// # Errors
    /// The first failure of the stream's work, or of work that it waited for.
    pub fn synchronize(&self) -> Result<StreamReport, Error> {
        capturing::forbid("waiting for a stream")?;
        if let Some(last) = self.lane.last() {
            last.synchronize()?;
        }
        Ok(self.lane.reports())
    }

    /// Whether everything has ended that the stream was given so far.
    pub fn is_idle(&self) -> Result<bool, Error> {
        match self.lane.last() {
            None => Ok(true),
            Some(fence) => Ok(fence.synchronize_within(Some(Duration::ZERO))? == Waited::Done),
        }
    }

    /// The id that its fences carry.
    pub fn context(&self) -> ContextId {
        self.lane.context()
    }

    /// The device that does the work.
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn lane(&self) -> &Lane {
        &self.lane
    }

    fn give(&self, operation: Operation<'_>) -> Result<StreamFence, Error> {
        let Operation { touched, label, work } = operation;
        let touched: Vec<_> =
            touched.iter().map(|(resource, access)| (resource.reservation(), *access)).collect();
        self.lane.submit(&touched, label, work).map(|((), fence)| fence)
    }

    pub(crate) fn own(&self, device: &Device, doing: &'static str) -> Result<(), Error> {
        if *device == self.device { Ok(()) } else { Err(Error::ForeignBuffer { doing }) }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("context", &self.context())
            .field("device", &self.device)
            .field("last", &self.lane.last())
            .finish()
    }
}
