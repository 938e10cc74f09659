//! Launches that are waited for.

use baton::launch::Call;

use crate::capturing;
use crate::check;
use crate::device::Device;
use crate::error::{BadLaunch, Error};
use crate::grid::{Grid, Occupancy};
use crate::memory::Resource;
use crate::module::Module;
use crate::operation::touched_by;
use crate::report::LaunchReport;
use crate::reservation::{Access, Failure, Fence, Status};

impl Device {
    /// Launches a kernel on `grid` CTAs and waits until it has finished.
    ///
    /// It begins when what it touches is free of other work, as on a [`Stream`](crate::Stream): it waits for what its
    /// buffers say, and runs beside everything else.
    ///
    /// A kernel that waits for what never comes is an error on the emulator, which sees that nothing can
    /// move any more; one that works for ever is one too where the emulator's options have a
    /// `step_limit`. On a GPU nobody sees either, and this does not return.
    ///
    /// What the kernel prints goes to standard output. An error that begins with "was not launched"
    /// left the device as it was. On the emulator a kernel that fails has left its buffers as they were then, for
    /// whoever is told of it here to look at.
    pub fn launch(
        &self,
        module: &Module,
        grid: impl Into<Grid>,
        call: Call<'_>,
    ) -> Result<LaunchReport, Error> {
        let grid = grid.into();
        let kernel = check::ready(self, module, grid, &call)?;
        capturing::forbid("launching a kernel and waiting for it")?;
        let touched = touched_by(&call)?;
        let touched: Vec<_> = touched
            .iter()
            .map(|(resource, access)| (resource.reservation(), *access))
            .chain([(module.code.reservation(), Access::Keep)])
            .collect();
        let (report, fence) = self.own().submit(&touched, call.kernel(), |giver| {
            giver.give(|queue| queue.launch_reported(&*kernel, grid, &call))
        })?;
        // If waiting is refused the kernel may still run: its buffers have the fence, and are kept.
        match fence.wait(None) {
            Ok(Status::Failed(failure)) => Err(self.kernel_failed(&call, failure)),
            Ok(_) => report.take(),
            Err(failure) => Err(fence.failed(failure)),
        }
    }

    /// A GPU says that a kernel failed; on the emulator that is in the report, and this is of something before it.
    fn kernel_failed(&self, call: &Call<'_>, failure: Failure) -> Error {
        match self.driver().alive("launching a kernel") {
            Err(Error::DeviceLost { reason, .. }) => {
                Error::KernelFailed { kernel: call.kernel(), gpu: self.name().into(), reason }
            }
            _ => Error::WorkFailed {
                what: format!("what kernel `{}` waited for", call.kernel()),
                failure,
            },
        }
    }

    /// How many CTAs and clusters of this call's kernel run at the same time.
    pub fn occupancy(&self, module: &Module, call: &Call<'_>) -> Result<Occupancy, Error> {
        let bad = |problem: BadLaunch| Error::BadLaunch { kernel: call.kernel(), problem };
        check::compiled(self, module, call).map_err(bad)?;
        check::prepared(module, call)?.occupancy(call)
    }
}
