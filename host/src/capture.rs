//! Captures: work that is put down, on one stream or on several that take turns.
//!
//! What was captured has not happened: it waits for nothing outside and adds no fences. Within the capture there is an
//! order all the same, in which everything will be done each time. On one stream that is the order of the calls. With
//! [branches](Capture::branch) it is what the buffers say, as between streams: each resource has a reservation for the
//! capture alone, whose fences are places in it.
//!
//! While a thread captures, its device may not be asked anything and nothing may wait on the host. So
//! reservations go by what they know already, what is dropped is given back later, and a wait is an
//! error.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use baton::launch::DeviceValue;

use crate::arguments::{Arguments, KernelTaking};
use crate::capturing;
use crate::driver::{Captured, Event};
use crate::error::Error;
use crate::grid::Grid;
use crate::lane::Lane;
use crate::module::Module;
use crate::operation::{Operation, Touching};
use crate::reservation::{Access, Asking, ContextId, Failure, Fence, Reservation, Status, acquire};
use crate::stream::Stream;
use crate::tensor_map::Matrix;
use crate::view::{Readable, Writable};

/// A capture that goes on, on one of its streams. What it is given is put down.
pub struct Capture<'c, 's> {
    stream: &'s Stream,
    going: &'c Going<'s>,
    /// The driver wants the capture to end on the thread where it began.
    thread: PhantomData<*const ()>,
}

/// What the streams of a capture have in common. It ends the capture if nobody has.
pub(crate) struct Going<'s> {
    first: &'s Lane,
    ended: Cell<bool>,
    /// Something was put down that the others cannot be ordered behind.
    broken: Cell<bool>,
    /// The branches' orders, which are joined at the end.
    others: RefCell<Vec<&'s Lane>>,
    touched: RefCell<Touching>,
    /// The order of the branches on each resource, by the ids of their reservations outside.
    orders: RefCell<HashMap<u64, Arc<Reservation<Place>>>>,
    next: Cell<u64>,
}

/// A place in the capture: the end of one piece of work on one of its streams.
#[derive(Clone)]
struct Place {
    context: ContextId,
    sequence: u64,
    event: Arc<dyn Event>,
}

impl Fence for Place {
    fn context(&self) -> ContextId {
        self.context
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    /// It has not happened, and the device must not be asked.
    fn status(&self) -> Status {
        Status::Pending
    }

    fn poll(&self) -> Result<Status, Failure> {
        Ok(Status::Pending)
    }

    fn wait(&self, _deadline: Option<Instant>) -> Result<Status, Failure> {
        Err(Failure::new("work that is captured is not waited for"))
    }
}

impl<'s> Going<'s> {
    fn begin(first: &'s Lane) -> Result<Self, Error> {
        capturing::forbid("beginning a second capture")?;
        first.begin_capture()?;
        capturing::set(true);
        Ok(Self {
            first,
            ended: Cell::new(false),
            broken: Cell::new(false),
            others: RefCell::default(),
            touched: RefCell::default(),
            orders: RefCell::default(),
            next: Cell::new(1),
        })
    }

    /// Everything that was put down, each branch joined.
    fn end(self) -> Result<(Box<dyn Captured>, Touching), Error> {
        let others = self.others.borrow();
        let joined = others.iter().try_for_each(|other| {
            let end = other.place()?;
            self.first.put_down(&[&*end], |_| Ok(()))
        });
        drop(others);
        let captured = self.stop();
        joined?;
        if self.broken.get() {
            let reason = "the end of a part was not recorded, so that nothing can come behind it";
            return Err(Error::Driver {
                doing: "ending a capture with branches".into(),
                reason: reason.into(),
            });
        }
        Ok((captured?, self.touched.take()))
    }

    fn stop(&self) -> Result<Box<dyn Captured>, Error> {
        self.ended.set(true);
        capturing::set(false);
        let captured = self.first.end_capture();
        let has_ended = captured.is_ok();
        self.others.borrow().iter().for_each(|other| other.leave_capture(has_ended));
        captured
    }

    fn has_branches(&self) -> bool {
        !self.others.borrow().is_empty()
    }

    /// The orders of what a piece of work touches.
    fn orders_of(&self, touched: &Touching) -> Vec<(Arc<Reservation<Place>>, Access)> {
        let mut orders = self.orders.borrow_mut();
        let order = |(resource, access): &(Arc<dyn crate::memory::Resource>, Access)| {
            let order = orders.entry(resource.reservation().id()).or_default();
            (Arc::clone(order), *access)
        };
        touched.iter().map(order).collect()
    }

    /// Puts a piece of work down on one of the streams, behind what the others have done to the same resources.
    fn put(&self, lane: &Lane, operation: Operation<'_>) -> Result<(), Error> {
        let Operation { touched, label, work } = operation;
        if touched.iter().any(|(resource, _)| resource.is_managed()) {
            return Err(Error::ManagedInGraph { doing: label.into_owned() });
        }
        // From before the first part on: of work whose later part is refused, the earlier ones stay.
        self.touched.borrow_mut().extend(touched.iter().cloned());
        if !self.has_branches() {
            return lane.put_down(&[], work);
        }
        let orders = self.orders_of(&touched);
        let touched: Vec<_> = orders.iter().map(|(order, access)| (&**order, *access)).collect();
        let acquired = acquire(lane.context(), &touched, Asking::Forbidden).map_err(|unknown| {
            Error::ContentsUnknown { doing: format!("`{label}`"), failure: unknown.failure }
        })?;
        let waits: Vec<_> = acquired.plan().waits().iter().map(|place| &*place.event).collect();
        let done = lane.put_down(&waits, work);
        // Some of it may have been put down even so.
        let event = lane.place().inspect_err(|_| self.broken.set(true))?;
        let sequence = self.next.get();
        self.next.set(sequence + 1);
        acquired.commit(&Place { context: lane.context(), sequence, event });
        done
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        if !self.ended.get() {
            // The error that broke the capture off counts, not what ending it says.
            let _ = self.stop();
        }
    }
}

impl Stream {
    /// What `work` gives to the capture, and what it touches.
    pub(crate) fn put_down<'s>(
        &'s self,
        work: impl for<'c> FnOnce(&mut Capture<'c, 's>) -> Result<(), Error>,
    ) -> Result<(Box<dyn Captured>, Touching), Error> {
        let going = Going::begin(self.lane())?;
        work(&mut Capture { stream: self, going: &going, thread: PhantomData })?;
        going.end()
    }
}

impl<'c, 's> Capture<'c, 's> {
    /// A branch of the capture on another stream of the device, from here on: what it is given is done beside what this
    /// capture is given from now on, and behind what it was given before.
    ///
    /// The order of the branches is that of the buffers: what touches a buffer waits for what it must. At the end all
    /// branches are joined: whoever waits for a launch of the graph waits for all of them.
    ///
    /// ```
    /// # fn main() -> Result<(), baton_host::Error> {
    /// # let device = baton_host::Device::emulator(Default::default());
    /// # use baton_host::Buffer;
    /// let (mut stream, mut beside) = (device.stream()?, device.stream()?);
    /// let [mut a, mut b, mut c] = [1u32, 2, 3].map(|value| Buffer::from_slice(&device, &[value]).unwrap());
    /// let mut graph = stream.capture(|capture| {
    ///     let mut branch = capture.branch(&mut beside)?;
    ///     capture.fill(&mut a, 7)?;
    ///     branch.fill(&mut b, 8)?; // beside the other fill
    ///     capture.copy(&b, &mut c) // behind both
    /// })?;
    /// graph.launch(&stream)?;
    /// assert_eq!(c.to_vec()?, [0x0808_0808]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The stream is borrowed until the capture has ended, and so is the branch:
    ///
    /// ```compile_fail,E0521
    /// # fn main() -> Result<(), baton_host::Error> {
    /// # let device = baton_host::Device::emulator(Default::default());
    /// let (mut stream, mut beside) = (device.stream()?, device.stream()?);
    /// let mut kept = None;
    /// stream.capture(|capture| {
    ///     kept = Some(capture.branch(&mut beside)?); // error: the branch ends with the capture
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn branch(&mut self, stream: &'s mut Stream) -> Result<Capture<'c, 's>, Error> {
        self.stream.own(stream.device(), "making a branch of a capture")?;
        let stream: &'s Stream = stream;
        let here = self.stream.lane().place()?;
        stream.lane().join_capture(&*here)?;
        self.going.others.borrow_mut().push(stream.lane());
        Ok(Capture { stream, going: self.going, thread: PhantomData })
    }

    /// What this is given from now on comes behind all that `other` was given so far.
    ///
    /// For work that touches the same buffers this is not needed.
    pub fn wait_for(&mut self, other: &Capture<'c, 's>) -> Result<(), Error> {
        if self.stream.context() == other.stream.context() {
            return Ok(());
        }
        let there = other.stream.lane().place()?;
        self.stream.lane().put_down(&[&*there], |_| Ok(()))
    }

    /// Puts down a launch. See [`Stream::launch`].
    pub fn launch<'a, Hosts, K, A>(
        &mut self,
        module: &Module,
        grid: impl Into<Grid>,
        kernel: K,
        arguments: A,
    ) -> Result<(), Error>
    where
        K: KernelTaking<'a, Hosts>,
        A: Arguments<'a, Hosts>,
    {
        let device = self.stream.device();
        self.put(Operation::launch(device, module, grid.into(), kernel, arguments)?)
    }

    /// Puts down a copy. See [`Stream::copy`].
    pub fn copy<T: DeviceValue>(
        &mut self,
        from: &impl Readable<Value = T>,
        to: &mut impl Writable<Value = T>,
    ) -> Result<(), Error> {
        self.put(Operation::copy(self.stream.device(), from.view(), to.view_mut())?)
    }

    /// Copies the rows of a matrix, each with a pitch of its own on both sides; what is between the rows of `to` stays.
    /// See [`Stream::copy_matrix`].
    pub fn copy_matrix<T: DeviceValue>(
        &mut self,
        (from, source): (&impl Readable<Value = T>, Matrix),
        (to, destination): (&mut impl Writable<Value = T>, Matrix),
    ) -> Result<(), Error> {
        let (from, to) = ((from.view(), source), (to.view_mut(), destination));
        self.put(Operation::copy_matrix(self.stream.device(), from, to)?)
    }

    /// Puts down a fill. See [`Stream::fill`].
    pub fn fill(&mut self, memory: &mut impl Writable, byte: u8) -> Result<(), Error> {
        self.put(Operation::fill(self.stream.device(), memory.view_mut(), byte)?)
    }

    fn put(&mut self, operation: Operation<'_>) -> Result<(), Error> {
        self.going.put(self.stream.lane(), operation)
    }
}

impl fmt::Debug for Capture<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("stream", self.stream).finish_non_exhaustive()
    }
}
