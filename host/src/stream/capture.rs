//! Work that is put down once and done many times.
//!
//! While a thread captures, its device may not be asked anything and nothing may wait on the host. So
//! reservations go by what they know already, what is dropped is given back later, and a wait is an
//! error.
//!
//! What was captured has not happened: it waits for nothing and adds no fences. Each launch of the
//! [`Graph`] is one piece of work that touches everything which the capture touched, and waits for that.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use baton::launch::DeviceValue;

use super::operation::Operation;
use super::{Arguments, KernelTaking, RawGraph, Stream, StreamFence};
use crate::launch::Grid;
use crate::memory::{Leftover, Resource};
use crate::reservation::{Access, Asking, Reservation};
use crate::{Buffer, Device, Error, Module};

thread_local! {
    static GOING_ON: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread captures.
pub(crate) fn is_going_on() -> bool {
    GOING_ON.get()
}

pub(super) fn asking() -> Asking {
    if is_going_on() { Asking::Forbidden } else { Asking::Allowed }
}

/// Refuses to wait on the host while this thread captures.
pub(crate) fn no_host_wait(doing: &str) -> Result<(), Error> {
    if is_going_on() { Err(Error::Capturing { doing: doing.into() }) } else { Ok(()) }
}

/// A capture that goes on. What it is given is put down.
pub struct Capture<'s> {
    stream: &'s Stream,
    touched: Vec<(Arc<dyn Resource>, Access)>,
    /// The driver wants the capture to end on the thread where it began.
    thread: PhantomData<*const ()>,
}

impl Capture<'_> {
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
        let device = &self.stream.device;
        self.put(Operation::launch(device, module, grid.into(), kernel, arguments)?)
    }

    /// Puts down a copy. See [`Stream::copy`].
    pub fn copy<T: DeviceValue>(
        &mut self,
        from: &Buffer<T>,
        to: &mut Buffer<T>,
    ) -> Result<(), Error> {
        self.put(Operation::copy(&self.stream.device, from, to)?)
    }

    /// Puts down a fill. See [`Stream::fill`].
    pub fn fill<T: DeviceValue>(&mut self, buffer: &mut Buffer<T>, byte: u8) -> Result<(), Error> {
        self.put(Operation::fill(&self.stream.device, buffer, byte)?)
    }

    fn put(&mut self, operation: Operation<'_>) -> Result<(), Error> {
        // Nothing is waited for here, and nothing recorded: the work has not happened.
        let Operation { touched, work, .. } = operation;
        work(&*self.stream.queue)?;
        self.touched.extend(touched);
        Ok(())
    }
}

/// Ends the capture if nobody has.
struct Going<'s>(Option<&'s Stream>);

impl Going<'_> {
    fn begin(stream: &Stream) -> Result<Going<'_>, Error> {
        no_host_wait("beginning a second capture")?;
        stream.queue.begin_capture()?;
        GOING_ON.set(true);
        Ok(Going(Some(stream)))
    }

    fn end(mut self) -> Result<Option<RawGraph>, Error> {
        self.stop().transpose()
    }

    fn stop(&mut self) -> Option<Result<RawGraph, Error>> {
        let stream = self.0.take()?;
        GOING_ON.set(false);
        Some(stream.queue.end_capture())
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        // The error that broke the capture off counts, not what ending it says.
        let _ = self.stop();
    }
}

impl Stream {
    /// Puts down what `work` gives to the capture, to be done later, as often as one likes.
    ///
    /// The stream is borrowed exclusively, because what other threads would give it meanwhile would be
    /// put down too.
    ///
    /// # Errors
    /// What `work` returns, and then what was put down is gone.
    pub fn capture(
        &mut self,
        work: impl FnOnce(&mut Capture<'_>) -> Result<(), Error>,
    ) -> Result<Graph, Error> {
        let stream = &*self;
        let going = Going::begin(stream)?;
        let mut capture = Capture { stream, touched: Vec::new(), thread: PhantomData };
        work(&mut capture)?;
        let touched = capture.touched;
        // `end` has a graph unless it was called before.
        let graph = going.end()?.ok_or(Error::ForeignFence)?;
        let device = self.device.clone();
        Ok(Graph { device, graph: Some(graph), touched, reservation: Reservation::new() })
    }
}

/// Work that was captured. Made by [`Stream::capture`].
///
/// It keeps the buffers and modules that it touches: their memory is not given back before the graph is
/// dropped, and stays theirs while it is launched.
pub struct Graph {
    device: Device,
    graph: Option<RawGraph>,
    touched: Vec<(Arc<dyn Resource>, Access)>,
    reservation: Reservation<StreamFence>,
}

impl Graph {
    /// Gives the work to a stream: behind what it must wait for, as any other.
    pub fn launch(&mut self, stream: &Stream) -> Result<StreamFence, Error> {
        no_host_wait("launching a graph")?;
        stream.own(&self.device, "launching a graph")?;
        let Some(graph) = &self.graph else { return Err(Error::ForeignFence) };
        let touched: Vec<_> = self
            .touched
            .iter()
            .map(|(resource, access)| (resource.reservation(), *access))
            .chain([(&self.reservation, Access::Write)])
            .collect();
        let (_, fence) =
            stream.submit(&touched, "graph".into(), |queue| queue.launch_graph(graph))?;
        Ok(fence)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(graph) = self.graph.take() {
            self.device.discard(Leftover::Graph(graph), &self.reservation);
        }
    }
}
