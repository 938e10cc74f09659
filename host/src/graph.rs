//! Work that is put down once and done many times.
//!
//! Each launch of a [`Graph`] is one piece of work that touches everything which its capture touched, and waits for
//! that.

use std::fmt;

use crate::capture::Capture;
use crate::capturing;
use crate::device::Device;
use crate::driver::{Executable, Queue};
use crate::error::Error;
use crate::fence::StreamFence;
use crate::leftover::pending;
use crate::operation::Touching;
use crate::reservation::{Access, Reservation};
use crate::stream::Stream;

impl Stream {
    /// Puts down what `work` gives to the capture, to be done later, as often as one likes.
    ///
    /// The stream is borrowed exclusively, because what other threads would give it meanwhile would be
    /// put down too.
    ///
    /// # Errors
    /// What `work` returns, and then what was put down is gone.
    pub fn capture<'s>(
        &'s mut self,
        work: impl for<'c> FnOnce(&mut Capture<'c, 's>) -> Result<(), Error>,
    ) -> Result<Graph, Error> {
        let stream: &'s Self = self;
        let (captured, touched) = stream.put_down(work)?;
        let graph = Some(stream.lane().executable(&*captured)?);
        let device = stream.device().clone();
        Ok(Graph { device, graph, touched, reservation: Reservation::new() })
    }
}

/// Work that was captured. Made by [`Stream::capture`].
///
/// It keeps the buffers and modules that it touches: their memory is not given back before the graph is
/// dropped, and stays theirs while it is launched.
pub struct Graph {
    device: Device,
    graph: Option<Box<dyn Executable>>,
    touched: Touching,
    reservation: Reservation<StreamFence>,
}

/// How a graph was [updated](Graph::update).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// The new work has the shape of the old, and has taken its place.
    InPlace,
    /// It has not, or does what the device cannot change in place, so that the graph was made anew.
    Anew,
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

    /// Puts other work in the place of the graph's, captured on `stream`: with other buffers, numbers, grids. Launches
    /// that were given before do what they were given.
    ///
    /// Where the new work has the shape of the old (as many pieces of the same kinds, in the same order), this costs less
    /// than a new graph, whose place it takes otherwise.
    ///
    /// # Errors
    /// What `work` returns; then the graph is as it was.
    pub fn update<'s>(
        &mut self,
        stream: &'s mut Stream,
        work: impl for<'c> FnOnce(&mut Capture<'c, 's>) -> Result<(), Error>,
    ) -> Result<Updated, Error> {
        stream.own(&self.device, "updating a graph")?;
        let stream: &'s Stream = stream;
        let (captured, touched) = stream.put_down(work)?;
        let Some(graph) = &mut self.graph else { return Err(Error::ForeignFence) };
        // Until the new work has its place, a driver that fails may have left either.
        self.touched.extend(touched.iter().cloned());
        let updated = if stream.lane().update(&mut **graph, &*captured)? {
            Updated::InPlace
        } else {
            let anew = stream.lane().executable(&*captured)?;
            if let Some(old) = self.graph.replace(anew) {
                self.device.keep(Box::new(old), pending(&self.reservation));
            }
            Updated::Anew
        };
        // What was touched has the fences of the launches before, and goes its own way.
        self.touched = touched;
        Ok(updated)
    }

    fn give(
        &self,
        stream: &Stream,
        label: &'static str,
        give: impl FnOnce(&dyn Queue, &dyn Executable) -> Result<(), Error>,
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

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let touched = self.touched.len();
        f.debug_struct("Graph").field("device", &self.device).field("touched", &touched).finish()
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
