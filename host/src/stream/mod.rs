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

mod arguments;
pub(crate) mod capture;
mod fence;
mod operation;
pub(crate) mod queue;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use baton::launch::DeviceValue;
use baton_emulator::Hazard;

use crate::launch::Grid;
use crate::memory::{Allocation, Resource};
use crate::reservation::{
    Access, ContextId, Failure, Fence, Reservation, Status, Usage, Waited, acquire,
};
use crate::{Buffer, Device, Error, Module, Pinned};

pub use arguments::{
    Argument, Arguments, KernelTaking, Read, Write, Zeroed, read, read_tiles, write, write_tiles,
    zeroed,
};
pub use capture::{Capture, Graph};
use fence::Progress;
pub use fence::StreamFence;
use operation::Operation;
use queue::{Point, Queue};

pub(crate) use queue::Graph as RawGraph;

/// An order of work on a device. Made by [`Device::stream`].
///
/// ```ignore
/// let (first, second) = (device.stream()?, device.stream()?);
/// first.launch(&module, 64, scale_kernel::scale, (read(&a), write(&mut b), 2.0))?;
/// second.launch(&module, 64, scale_kernel::scale, (read(&a), write(&mut c), 3.0))?; // beside the first
/// first.fill(&mut a, 0)?;   // waits for the second stream, which reads `a`
/// let values = c.to_vec()?; // waits on the host for what writes `c`
/// ```
///
/// It may be used from several threads; each piece of work has its place in the order from when it was
/// given. Dropped, it still does all that it was given.
pub struct Stream {
    device: Device,
    context: ContextId,
    queue: Box<dyn Queue>,
    order: Mutex<Order>,
}

/// How far the order goes.
struct Order {
    next: u64,
    last: Option<StreamFence>,
    /// The latest fence of each other stream that this one has been told to wait for: what comes later
    /// here comes after it anyway.
    waited: HashMap<ContextId, u64>,
    progress: Arc<Progress>,
}

/// What the kernels of a stream left behind, on the emulator. A GPU's do not say.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct StreamReport {
    /// Instructions that all threads executed.
    pub instructions: Option<u64>,
    /// What the kernels printed. It has been written to standard output too.
    pub output: String,
    /// Uses of memory that the memory model does not order, within a kernel.
    pub hazards: Vec<Hazard>,
}

impl Stream {
    pub(crate) fn new(device: &Device, queue: Box<dyn Queue>) -> Self {
        let order = Order { next: 1, last: None, waited: HashMap::new(), progress: Arc::default() };
        Self {
            device: device.clone(),
            context: ContextId::unique(),
            queue,
            order: Mutex::new(order),
        }
    }

    /// Launches a kernel on `grid` CTAs.
    ///
    /// `kernel` is the function that `#[baton::kernel]` made for the host, and `arguments` are its
    /// arguments as a tuple, buffers as [`read`] or [`write()`], tensor maps as [`read_tiles`] or
    /// [`write_tiles`], and a protocol as a tuple of [`zeroed`] words and its array.
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

    /// Copies all of `from` to `to`, which must have as many elements.
    pub fn copy<T: DeviceValue>(
        &self,
        from: &Buffer<T>,
        to: &mut Buffer<T>,
    ) -> Result<StreamFence, Error> {
        self.give(Operation::copy(&self.device, from, to)?)
    }

    /// Sets every byte.
    pub fn fill<T: DeviceValue>(
        &self,
        buffer: &mut Buffer<T>,
        byte: u8,
    ) -> Result<StreamFence, Error> {
        self.give(Operation::fill(&self.device, buffer, byte)?)
    }

    /// Copies all of `from` to the device.
    pub fn upload<T: DeviceValue>(
        &self,
        from: &Pinned<T>,
        to: &mut Buffer<T>,
    ) -> Result<StreamFence, Error> {
        self.give(Operation::upload(&self.device, from, to)?)
    }

    /// Copies all of `from` to the host.
    pub fn download<T: DeviceValue>(
        &self,
        from: &Buffer<T>,
        to: &mut Pinned<T>,
    ) -> Result<StreamFence, Error> {
        self.give(Operation::download(&self.device, from, to)?)
    }

    /// Room for `len` values with whatever bytes were there, in the order of this stream: others wait
    /// until it is there.
    pub fn alloc<T: DeviceValue>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let bytes = Buffer::<T>::size(len)?;
        let (address, fence) =
            self.submit(&[], "allocate".into(), |queue| queue.alloc(bytes.max(1)))?;
        let allocation = Allocation::from_address(&self.device, address, true);
        moved(allocation.reservation(), &fence);
        Ok(Buffer::from_allocation(Arc::new(allocation), len))
    }

    /// Frees a buffer in the order of this stream, behind all work that touches it.
    ///
    /// A buffer that did not come from [`Stream::alloc`] is given back when that work has ended, which is
    /// what dropping it does.
    pub fn free<T>(&self, buffer: Buffer<T>) -> Result<(), Error> {
        self.own(buffer.device(), "freeing")?;
        let Some(allocation) = Arc::into_inner(buffer.allocation) else { return Ok(()) };
        if !allocation.is_pooled() {
            return Ok(());
        }
        let freed = Cell::new(false);
        let touched = [(allocation.reservation(), Access::Move)];
        let submitted = self.submit(&touched, "free".into(), |queue| {
            queue.free(allocation.address())?;
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
        let old = buffer.allocation.reservation();
        let (address, fence) = self.submit(&[(old, Access::Move)], "move".into(), |queue| {
            let to = queue.alloc(bytes.max(1))?;
            if kept > 0
                && let Err(error) = queue.copy(from, to, kept)
            {
                // It is the copy's error that counts.
                let _ = queue.free(to);
                return Err(error);
            }
            Ok(to)
        })?;
        let allocation = Allocation::from_address(&self.device, address, true);
        if let Some(failure) = old.failure() {
            allocation.reservation().lock().fail(failure);
        }
        moved(allocation.reservation(), &fence);
        *buffer = Buffer::from_allocation(Arc::new(allocation), len);
        Ok(fence)
    }

    /// Work that the stream is given from now on waits for `fence`.
    ///
    /// For work that touches the same buffers this is not needed.
    pub fn wait_for(&self, fence: &StreamFence) -> Result<(), Error> {
        if fence.context() == self.context || fence.status() != Status::Pending {
            return Ok(());
        }
        self.order().wait(&*self.queue, fence)
    }

    /// The end of all that the stream was given so far.
    pub fn record(&self) -> Result<StreamFence, Error> {
        self.submit(&[], "record".into(), |_| Ok(())).map(|((), fence)| fence)
    }

    /// Waits on the host until everything has ended that the stream was given so far.
    ///
    /// # Errors
    /// The first failure of the stream's work, or of work that it waited for.
    pub fn synchronize(&self) -> Result<StreamReport, Error> {
        capture::no_host_wait("waiting for a stream")?;
        let reports = self.queue.synchronize()?;
        self.order().check()?;
        let queue::Reports { instructions, output, hazards } = reports;
        Ok(StreamReport { instructions, output, hazards })
    }

    /// Whether everything has ended that the stream was given so far.
    pub fn is_idle(&self) -> Result<bool, Error> {
        let last = self.order().last.clone();
        match last {
            None => Ok(true),
            Some(fence) => Ok(fence.synchronize_within(Some(Duration::ZERO))? == Waited::Done),
        }
    }

    /// The id that its fences carry.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// The device that does the work.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn give(&self, operation: Operation<'_>) -> Result<StreamFence, Error> {
        let Operation { touched, label, work } = operation;
        let touched: Vec<_> =
            touched.iter().map(|(resource, access)| (resource.reservation(), *access)).collect();
        self.submit(&touched, label, work).map(|((), fence)| fence)
    }

    /// Gives work to the device: behind what it must wait for, and so that others can wait for it.
    fn submit<T>(
        &self,
        touched: &[(&Reservation<StreamFence>, Access)],
        label: Cow<'static, str>,
        work: impl FnOnce(&dyn Queue) -> Result<T, Error>,
    ) -> Result<(T, StreamFence), Error> {
        let acquired = acquire(self.context, touched, capture::asking()).map_err(|unknown| {
            Error::ContentsUnknown { doing: format!("`{label}`"), failure: unknown.failure }
        })?;
        let mut order = self.order();
        order.check()?;
        for fence in acquired.plan().waits() {
            order.wait(&*self.queue, fence)?;
        }
        let done = work(&*self.queue)?;
        // From here the work is on its way, and somebody must be able to wait for it.
        let (point, lost) = match self.queue.record() {
            Ok(point) => (point, None),
            Err(error) => match self.queue.synchronize() {
                Ok(_) => (Point::Ended(Ok(())), None),
                Err(_) => (Point::Ended(Err(Failure::new(error.to_string()))), Some(error)),
            },
        };
        let progress = Arc::clone(&order.progress);
        let fence = StreamFence::new(self.context, order.next, label, point, progress);
        order.next += 1;
        order.last = Some(fence.clone());
        acquired.commit(&fence);
        match lost {
            None => Ok((done, fence)),
            Some(error) => Err(error),
        }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        // A panic in another thread leaves a number and a fence that go together or are too old, and
        // too old a fence only waits for less than was asked.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self, device: &Device, doing: &'static str) -> Result<(), Error> {
        if *device == self.device { Ok(()) } else { Err(Error::ForeignBuffer { doing }) }
    }
}

impl Order {
    /// What the stream is given from now on comes after `fence`.
    fn wait(&mut self, queue: &dyn Queue, fence: &StreamFence) -> Result<(), Error> {
        let waited = self.waited.entry(fence.context()).or_default();
        if *waited < fence.sequence() {
            queue.wait(fence.point())?;
            *waited = fence.sequence();
        }
        Ok(())
    }

    /// A stream of which something has failed takes no more work.
    fn check(&self) -> Result<(), Error> {
        match &self.last {
            Some(fence) => match fence.status() {
                Status::Failed(failure) => {
                    Err(Error::WorkFailed { what: fence.to_string(), failure })
                }
                _ => Ok(()),
            },
            None => Ok(()),
        }
    }
}

/// Everybody waits for work that has put the memory in its place.
fn moved(reservation: &Reservation<StreamFence>, fence: &StreamFence) {
    let added = match reservation.lock().reserve(1) {
        Ok(mut guard) => guard.add(fence.clone(), Usage::Kernel).is_ok(),
        Err(_) => false,
    };
    if !added {
        // There was no memory for it: wait here. A failure shows when the memory is used.
        let _ = fence.wait(None::<Instant>);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("context", &self.context)
            .field("device", &self.device)
            .field("last", &self.order().last)
            .finish()
    }
}
