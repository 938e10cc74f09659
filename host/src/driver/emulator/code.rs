//! Code as the emulator runs it: a kernel is found by its name when it is launched.

use std::sync::Arc;

use baton::launch::Call;
use baton_emulator::{Launch, Program};

use crate::driver::{Code, Kernel};
use crate::error::Error;
use crate::grid::{Grid, Occupancy};

/// A module as the emulator runs it.
pub(super) struct EmulatedCode(pub(super) Arc<Program>);

impl Code for EmulatedCode {
    fn is_cubin(&self) -> bool {
        false
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn kernel(&self, _name: &'static str) -> Result<Arc<dyn Kernel>, Error> {
        Ok(Arc::new(EmulatedKernel(Arc::clone(&self.0))))
    }
}

/// A kernel is found by its name when it is launched.
pub(super) struct EmulatedKernel(pub(super) Arc<Program>);

impl Kernel for EmulatedKernel {
    fn check(&self, _call: &Call<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// The emulator does without registers and limits on what CTAs share: it starts as many as it keeps at once.
    fn occupancy(&self, call: &Call<'_>) -> Result<Occupancy, Error> {
        let ctas = baton_emulator::RESIDENT as u32;
        let clusters = call.shape().cluster;
        let clusters = clusters.map(|extents| ctas / extents.iter().product::<u32>().max(1));
        Ok(Occupancy { ctas_per_multiprocessor: ctas, multiprocessors: 1, clusters })
    }
}

/// A call as the emulator wants it.
pub(super) fn description(Grid(grid): Grid, call: &Call<'_>) -> Launch {
    let shape = call.shape();
    Launch {
        kernel: call.kernel().into(),
        grid,
        block: shape.threads,
        // Zeros are for kernels that are launched without clusters.
        cluster: shape.cluster.unwrap_or([0; 3]),
        dynamic_shared: shape.dynamic_shared,
        params: call.params().to_vec(),
        dependent: call.is_dependent(),
        // Nothing here asks for the grid barrier of cooperative groups; the grid has been compared with the occupancy.
        cooperative: false,
    }
}
