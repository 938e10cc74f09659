//! One piece of work, described before a stream is given it or a capture puts it down.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use baton::launch::{Call, DeviceValue};

use crate::arguments::{Arguments, Before, KernelTaking};
use crate::buffer::Buffer;
use crate::check;
use crate::device::Device;
use crate::driver::Queue;
use crate::error::Error;
use crate::grid::Grid;
use crate::lane::Giver;
use crate::memory::{Allocation, Resource};
use crate::module::Module;
use crate::pinned::Pinned;
use crate::reservation::Access;

/// What work touches, and how.
pub(crate) type Touching = Vec<(Arc<dyn Resource>, Access)>;

pub(crate) struct Operation<'w> {
    /// It is kept until the work has been given to the device.
    pub touched: Touching,
    pub label: Cow<'static, str>,
    pub work: Work<'w>,
}

type Work<'w> = Box<dyn FnOnce(&Giver<'_>) -> Result<(), Error> + 'w>;

/// What a call's kernel touches, as the owners of its memory say.
pub(crate) fn touched_by(call: &Call<'_>) -> Result<Touching, Error> {
    let touched = call.touched().iter().map(|(what, writes)| {
        let allocation: Result<Arc<Allocation>, Arc<dyn Any + Send + Sync>> =
            Arc::clone(what).downcast();
        // Only this library's buffers lend this library's memory, and they add nothing else.
        let allocation = allocation.map_err(|_| Error::ForeignBuffer { doing: "launching" })?;
        let access = if writes { Access::Write } else { Access::Read };
        Ok((allocation as Arc<dyn Resource>, access))
    });
    touched.collect()
}

impl<'w> Operation<'w> {
    pub fn launch<'a: 'w, Hosts, K: KernelTaking<'a, Hosts>, A: Arguments<'a, Hosts>>(
        device: &Device,
        module: &Module,
        grid: Grid,
        kernel: K,
        arguments: A,
    ) -> Result<Self, Error> {
        let mut before = Before::default();
        let call = kernel.call(arguments.resolve(&mut before));
        let kernel = check::ready(device, module, grid, &call)?;
        let mut touched = touched_by(&call)?;
        // What is zeroed first has new contents, whatever became of the old.
        touched.extend(
            before
                .zeroes
                .iter()
                .map(|(words, _)| (Arc::clone(words) as Arc<dyn Resource>, Access::Overwrite)),
        );
        touched.push((Arc::clone(&module.code) as Arc<dyn Resource>, Access::Keep));
        let label = call.kernel().into();
        let work = move |giver: &Giver<'_>| {
            for (words, bytes) in before.zeroes.iter().filter(|(_, bytes)| *bytes > 0) {
                giver.give(|queue| queue.fill(words.address(), *bytes, 0))?;
            }
            giver.give(|queue| queue.launch(&*kernel, grid, &call))
        };
        Ok(Self { touched, label, work: Box::new(work) })
    }

    pub fn copy<T: DeviceValue>(
        device: &Device,
        from: &Buffer<T>,
        to: &mut Buffer<T>,
    ) -> Result<Self, Error> {
        own(device, [from.device(), to.device()], "copying")?;
        same_length(from.len(), to.len())?;
        let (source, destination, bytes) = (from.address(), to.address(), from.bytes());
        let touched = vec![touch(from, Access::Read), touch(to, Access::Overwrite)];
        Ok(Self::bytes(touched, "copy", bytes, move |queue| queue.copy(source, destination, bytes)))
    }

    pub fn fill<T: DeviceValue>(
        device: &Device,
        buffer: &mut Buffer<T>,
        byte: u8,
    ) -> Result<Self, Error> {
        own(device, [buffer.device()], "filling")?;
        let (address, bytes) = (buffer.address(), buffer.bytes());
        let touched = vec![touch(buffer, Access::Overwrite)];
        Ok(Self::bytes(touched, "fill", bytes, move |queue| queue.fill(address, bytes, byte)))
    }

    pub fn upload<T: DeviceValue>(
        device: &Device,
        from: &Pinned<T>,
        to: &mut Buffer<T>,
    ) -> Result<Self, Error> {
        own(device, [from.device(), to.device()], "copying to the device")?;
        same_length(from.len(), to.len())?;
        let (source, destination) = (from.allocation.address(), to.address());
        let bytes = to.bytes();
        let touched = vec![
            (Arc::clone(&from.allocation) as Arc<dyn Resource>, Access::Read),
            touch(to, Access::Overwrite),
        ];
        Ok(Self::bytes(touched, "upload", bytes, move |queue| {
            queue.upload(source, destination, bytes)
        }))
    }

    pub fn download<T: DeviceValue>(
        device: &Device,
        from: &Buffer<T>,
        to: &mut Pinned<T>,
    ) -> Result<Self, Error> {
        own(device, [from.device(), to.device()], "copying from the device")?;
        same_length(from.len(), to.len())?;
        let (source, destination) = (from.address(), to.allocation.address());
        let bytes = from.bytes();
        let touched = vec![
            touch(from, Access::Read),
            (Arc::clone(&to.allocation) as Arc<dyn Resource>, Access::Overwrite),
        ];
        Ok(Self::bytes(touched, "download", bytes, move |queue| {
            queue.download(source, destination, bytes)
        }))
    }

    /// Work on so many bytes; on none, there is none, which some drivers refuse.
    fn bytes(
        touched: Vec<(Arc<dyn Resource>, Access)>,
        label: &'static str,
        bytes: usize,
        work: impl FnOnce(&dyn Queue) -> Result<(), Error> + 'w,
    ) -> Self {
        let work: Work<'w> = match bytes {
            0 => Box::new(|_| Ok(())),
            _ => Box::new(move |giver| giver.give(work)),
        };
        Self { touched, label: label.into(), work }
    }
}

fn touch<T>(buffer: &Buffer<T>, access: Access) -> (Arc<dyn Resource>, Access) {
    let allocation: Arc<Allocation> = Arc::clone(buffer.allocation());
    (allocation, access)
}

fn own<const N: usize>(
    device: &Device,
    buffers: [&Device; N],
    doing: &'static str,
) -> Result<(), Error> {
    match buffers.iter().all(|buffer| *buffer == device) {
        true => Ok(()),
        false => Err(Error::ForeignBuffer { doing }),
    }
}

fn same_length(from: usize, to: usize) -> Result<(), Error> {
    if from == to { Ok(()) } else { Err(Error::BufferLengths { from, to }) }
}
