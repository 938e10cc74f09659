//! One order of work of a device, and the only way in which anything is given to a device.
//!
//! [`Lane::submit`] is what a user's stream, the host's own copies, launches that wait, graphs and the freeing of
//! memory have in common: lock the reservations of what is touched, wait for what they say, give the work, record
//! its end, and leave that in the reservations. Nothing waits for more than events.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use crate::capturing;
use crate::driver::{Captured, Driver, Event, Executable, Queue, Want};
use crate::error::Error;
use crate::fence::{Point, Progress, StreamFence};
use crate::report::StreamReport;
use crate::reservation::{Access, ContextId, Failure, Fence, Reservation, Status, acquire};
use crate::sync::{Mutex, MutexGuard};
use crate::waits::Waits;

/// An order of work.
pub(crate) struct Lane {
    context: ContextId,
    queue: Box<dyn Queue>,
    driver: Arc<dyn Driver>,
    /// Each piece of work is of another owner, so a failure is its own.
    isolated: bool,
    order: Mutex<Order>,
}

/// How far the order goes.
struct Order {
    next: u64,
    last: Option<StreamFence>,
    waited: Waits,
    progress: Arc<Progress>,
    /// What is given is put down and not done.
    captures: bool,
}

/// What a piece of work is given through: it knows whether anything is on its way.
pub(crate) struct Giver<'q> {
    queue: &'q dyn Queue,
    given: Cell<bool>,
}

impl<'q> Giver<'q> {
    /// Gives one part of the work.
    pub fn give<T>(
        &self,
        part: impl FnOnce(&'q dyn Queue) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let given = part(self.queue)?;
        self.given.set(true);
        Ok(given)
    }
}

impl Lane {
    pub fn new(driver: &Arc<dyn Driver>, want: Want) -> Result<Self, Error> {
        Ok(Self::of(driver, driver.queue(want)?, want.isolated))
    }

    /// The order of a queue.
    pub fn of(driver: &Arc<dyn Driver>, queue: Box<dyn Queue>, isolated: bool) -> Self {
        let order = Order {
            next: 1,
            last: None,
            waited: Waits::default(),
            progress: Arc::default(),
            captures: false,
        };
        Self {
            context: ContextId::unique(),
            queue,
            driver: Arc::clone(driver),
            isolated,
            order: Mutex::new(order),
        }
    }

    /// The id that its fences carry.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// Gives work to the device: behind what it must wait for, and so that others can wait for it.
    ///
    /// Work of several parts of which a later one is refused is on its way with the earlier ones, so it leaves its
    /// fence even if this is an error.
    pub fn submit<T>(
        &self,
        touched: &[(&Reservation<StreamFence>, Access)],
        label: impl Into<Cow<'static, str>>,
        work: impl FnOnce(&Giver<'_>) -> Result<T, Error>,
    ) -> Result<(T, StreamFence), Error> {
        let label = label.into();
        capturing::not_in_callback(&label)?;
        self.driver.alive(&label)?;
        let acquired = acquire(self.context, touched, capturing::asking()).map_err(|unknown| {
            // A writer fails with its device, and then that is what there is to say.
            self.driver.alive(&label).err().unwrap_or_else(|| Error::ContentsUnknown {
                doing: format!("`{label}`"),
                failure: unknown.failure,
            })
        })?;
        let mut order = self.order();
        order.not_captured(&label)?;
        if !self.isolated {
            order.check()?;
        }
        let _entered = self.queue.enter()?;
        for fence in acquired.plan().waits() {
            order.wait(&*self.queue, fence)?;
        }
        let giver = Giver { queue: &*self.queue, given: Cell::new(false) };
        let done = match work(&giver) {
            // Nothing of it is on its way: everything is as it was.
            Err(error) if !giver.given.get() => return Err(error),
            done => done,
        };
        // From here the work is on its way, and somebody must be able to wait for it.
        let (point, unrecorded) = self.end();
        let progress = Arc::clone(&order.progress);
        let fence = StreamFence::new(self.context, order.next, label, point, progress);
        order.next += 1;
        order.last = Some(fence.clone());
        acquired.commit(&fence);
        match (done, unrecorded) {
            (Ok(done), None) => Ok((done, fence)),
            (Err(error), _) | (Ok(_), Some(error)) => Err(error),
        }
    }

    /// The end of what was given. Where it cannot be recorded the host waits for it, and where that is refused too,
    /// nobody can say when it ends.
    fn end(&self) -> (Point, Option<Error>) {
        let error = match self.queue.record() {
            Ok(event) => return (Point::At(event), None),
            Err(error) => error,
        };
        match self.queue.drain() {
            Ok(()) => (Point::Ended, None),
            Err(_) => (Point::Unknown(Failure::new(error.to_string())), Some(error)),
        }
    }

    /// What the order is given from now on waits for `fence`.
    pub fn wait_for(&self, fence: &StreamFence) -> Result<(), Error> {
        capturing::forbid("waiting for another stream")?;
        if fence.context() == self.context || fence.status() != Status::Pending {
            return Ok(());
        }
        self.driver.alive("waiting for another stream")?;
        let mut order = self.order();
        order.not_captured("waiting for another stream")?;
        order.wait(&*self.queue, fence)
    }

    /// The driver's handle.
    pub fn raw(&self) -> Option<*mut c_void> {
        self.queue.raw()
    }

    /// What the order is given from now on waits for an event that somebody else owns.
    ///
    /// # Safety
    /// It is an event of the driver's that has not been destroyed.
    pub unsafe fn wait_for_foreign(&self, event: *mut c_void) -> Result<(), Error> {
        let order = self.order();
        order.not_captured("waiting for an event of another library")?;
        // SAFETY: the caller's.
        unsafe { self.queue.wait_foreign(event) }
    }

    /// The fence of what was given last.
    pub fn last(&self) -> Option<StreamFence> {
        self.order().last.clone()
    }

    pub fn reports(&self) -> StreamReport {
        self.queue.reports()
    }

    /// What is given from now on is put down.
    pub fn begin_capture(&self) -> Result<(), Error> {
        let mut order = self.order();
        order.not_captured("beginning a capture")?;
        self.queue.begin_capture()?;
        order.captures = true;
        Ok(())
    }

    /// Puts down a part of what is captured, behind places of the capture's other orders.
    pub fn put_down(
        &self,
        waits: &[&dyn Event],
        part: impl FnOnce(&Giver<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let _order = self.order();
        let _entered = self.queue.enter()?;
        for event in waits {
            self.queue.wait(*event)?;
        }
        part(&Giver { queue: &*self.queue, given: Cell::new(false) })
    }

    /// The place in the capture behind all that was put down here.
    pub fn place(&self) -> Result<Arc<dyn Event>, Error> {
        let _order = self.order();
        let _entered = self.queue.enter()?;
        self.queue.record()
    }

    /// What is given from now on is put down, in the capture of that place and behind it.
    pub fn join_capture(&self, place: &dyn Event) -> Result<(), Error> {
        let mut order = self.order();
        order.not_captured("making a branch of a capture")?;
        let _entered = self.queue.enter()?;
        self.queue.wait(place)?;
        order.captures = true;
        Ok(())
    }

    /// The capture that was joined has ended, or was to.
    pub fn leave_capture(&self, has_ended: bool) {
        self.order().captures = !has_ended && self.queue.is_captured();
    }

    /// Everything that was put down here and in the orders that have joined.
    pub fn end_capture(&self) -> Result<Box<dyn Captured>, Error> {
        let mut order = self.order();
        let captured = self.queue.end_capture();
        // What is given to a stream that is captured still would be put down, and nobody would do it.
        order.captures = captured.is_err() && self.queue.is_captured();
        captured
    }

    /// What was put down, so that it can be launched.
    pub fn executable(&self, captured: &dyn Captured) -> Result<Box<dyn Executable>, Error> {
        self.queue.executable(captured)
    }

    /// Puts what was put down in the place of other work; `false` if it has another shape.
    pub fn update(&self, old: &mut dyn Executable, captured: &dyn Captured) -> Result<bool, Error> {
        self.queue.update(old, captured)
    }

    /// Whether work is put down rather than done. Who has the answer may find it changed.
    pub fn captures(&self) -> bool {
        self.order().captures
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        // A panic in another thread leaves a number and a fence that go together or are too old, and
        // too old a fence only waits for less than was asked.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Order {
    /// What the order is given from now on comes after `fence`.
    fn wait(&mut self, queue: &dyn Queue, fence: &StreamFence) -> Result<(), Error> {
        if self.waited.covers(fence) {
            return Ok(());
        }
        let Some(event) = fence.event() else {
            return match fence.poll() {
                Ok(_) => Ok(()),
                Err(failure) => Err(fence.failed(failure)),
            };
        };
        queue.wait(event)?;
        self.waited.add(fence);
        Ok(())
    }

    /// What it were given would not be done.
    fn not_captured(&self, doing: &str) -> Result<(), Error> {
        if self.captures { Err(Error::StillCaptured { doing: doing.into() }) } else { Ok(()) }
    }

    /// An order of which something has failed takes no more work.
    fn check(&self) -> Result<(), Error> {
        match &self.last {
            Some(fence) => match fence.status() {
                Status::Failed(failure) => Err(fence.failed(failure)),
                _ => Ok(()),
            },
            None => Ok(()),
        }
    }
}
