//! Work that is put down once and done many times.
//!
//! While a thread captures, its device may not be asked anything and nothing may wait on the host. So
//! reservations go by what they know already, what is dropped is given back later, and a wait is an
//! error.
//!
//! What was captured has not happened: it waits for nothing and adds no fences. Each launch of the
//! [`Graph`] is one piece of work that touches everything which the capture touched, and waits for that.

use std::marker::PhantomData;

use baton::launch::DeviceValue;

use crate::arguments::{Arguments, KernelTaking};
use crate::capturing;
use crate::device::Device;
use crate::driver::{Captured, Queue};
use crate::error::Error;
use crate::fence::StreamFence;
use crate::grid::Grid;
use crate::lane::Lane;
use crate::leftover::pending;
use crate::module::Module;
use crate::operation::{Operation, Touching};
use crate::reservation::{Access, Reservation};
use crate::stream::Stream;
use crate::tensor_map::Matrix;
use crate::view::{Readable, Writable};

/// A capture that goes on. What it is given is put down.
pub struct Capture<'s> {
    stream: &'s Stream,
    touched: Touching,
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
        // Nothing is waited for here, and nothing recorded: the work has not happened.
        let Operation { touched, work, .. } = operation;
        self.stream.lane().put_down(work)?;
        self.touched.extend(touched);
        Ok(())
    }
}

/// Ends the capture if nobody has.
struct Going<'s>(Option<&'s Lane>);

impl Going<'_> {
    fn begin(lane: &Lane) -> Result<Going<'_>, Error> {
        capturing::forbid("beginning a second capture")?;
        lane.begin_capture()?;
        capturing::set(true);
        Ok(Going(Some(lane)))
    }

    fn end(mut self) -> Option<Result<Box<dyn Captured>, Error>> {
        self.stop()
    }

    fn stop(&mut self) -> Option<Result<Box<dyn Captured>, Error>> {
        let lane = self.0.take()?;
        capturing::set(false);
        Some(lane.end_capture())
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
        let going = Going::begin(stream.lane())?;
        let mut capture = Capture { stream, touched: Vec::new(), thread: PhantomData };
        work(&mut capture)?;
        let touched = capture.touched;
        // `end` has a graph unless it was called before.
        let graph = going.end().ok_or(Error::ForeignFence)??;
        let device = self.device().clone();
        Ok(Graph { device, graph: Some(graph), touched, reservation: Reservation::new() })
    }
}

/// Work that was captured. Made by [`Stream::capture`].
///
/// It keeps the buffers and modules that it touches: their memory is not given back before the graph is
/// dropped, and stays theirs while it is launched.
pub struct Graph {
    device: Device,
    graph: Option<Box<dyn Captured>>,
    touched: Touching,
    reservation: Reservation<StreamFence>,
}

impl Graph {
    /// Gives the work to a stream: behind what it must wait for, as any other.
    pub fn launch(&mut self, stream: &Stream) -> Result<StreamFence, Error> {
        self.give(stream, "graph", |queue, graph| queue.launch_graph(graph))
    }

    /// Lets the device prepare for the graph's launches, in the order of a stream: the first launch then takes no longer
    /// than the others.
    pub fn upload(&mut self, stream: &Stream) -> Result<StreamFence, Error> {
        self.give(stream, "upload of a graph", |queue, graph| queue.upload_graph(graph))
    }

    fn give(
        &self,
        stream: &Stream,
        label: &'static str,
        give: impl FnOnce(&dyn Queue, &dyn Captured) -> Result<(), Error>,
    ) -> Result<StreamFence, Error> {
        capturing::forbid("launching a graph")?;
        stream.own(&self.device, "launching a graph")?;
        let Some(graph) = &self.graph else { return Err(Error::ForeignFence) };
        let touched: Vec<_> = self
            .touched
            .iter()
            .map(|(resource, access)| (resource.reservation(), *access))
            .chain([(&self.reservation, Access::Write)])
            .collect();
        let given = stream
            .lane()
            .submit(&touched, label, |giver| giver.give(|queue| give(queue, &**graph)));
        given.map(|((), fence)| fence)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(graph) = self.graph.take() {
            // What it touches has the fences of its launches too, and goes its own way: it keeps the device, which keeps
            // what is left over.
            self.device.keep(Box::new(graph), pending(&self.reservation));
        }
    }
}
