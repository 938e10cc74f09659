//! One piece of work, described before a stream is given it or a capture puts it down.

use std::borrow::Cow;
use std::sync::Arc;

use baton::launch::DeviceValue;

use super::arguments::{Arguments, KernelTaking, Touched};
use super::capture;
use super::queue::{HostAddress, Queue};
use crate::launch::{self, Grid};
use crate::memory::{Allocation, Resource};
use crate::reservation::Access;
use crate::{Buffer, Device, Error, Module, Pinned};

pub(super) struct Operation<'w> {
    /// What it touches, and how. It is kept until the work has been given to the device.
    pub touched: Vec<(Arc<dyn Resource>, Access)>,
    pub label: Cow<'static, str>,
    pub work: Work<'w>,
}

type Work<'w> = Box<dyn FnOnce(&dyn Queue) -> Result<(), Error> + 'w>;

impl<'w> Operation<'w> {
    pub fn launch<'a: 'w, Hosts, K: KernelTaking<'a, Hosts>, A: Arguments<'a, Hosts>>(
        device: &Device,
        module: &Module,
        grid: Grid,
        kernel: K,
        arguments: A,
    ) -> Result<Self, Error> {
        let mut touched = Touched::default();
        let call = kernel.call(arguments.resolve(&mut touched));
        let name = call.kernel();
        launch::check(device, module, grid, &call)
            .map_err(|problem| Error::BadLaunch { kernel: name, problem })?;
        let code = Arc::clone(&module.code);
        let loaded = Arc::clone(code.loaded());
        touched.resources.push((code, Access::Keep));
        let Touched { resources, zeroes } = touched;
        let work = move |queue: &dyn Queue| {
            let launch = || {
                for &(address, bytes) in zeroes.iter().filter(|(_, bytes)| *bytes > 0) {
                    queue.fill(address, bytes, 0)?;
                }
                queue.launch(&loaded, grid, &call)
            };
            launch().inspect_err(|_| {
                // A launch that fails commits nothing, so nothing of it may be on its way.
                if !zeroes.is_empty() && !capture::is_going_on() {
                    let _ = queue.synchronize();
                }
            })
        };
        Ok(Self { touched: resources, label: name.into(), work: Box::new(work) })
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
        let (source, destination) = (HostAddress(from.allocation.address()), to.address());
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
        let (source, destination) = (from.address(), HostAddress(to.allocation.address()));
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
        let work: Work<'w> = if bytes == 0 { Box::new(|_| Ok(())) } else { Box::new(work) };
        Self { touched, label: label.into(), work }
    }
}

fn touch<T>(buffer: &Buffer<T>, access: Access) -> (Arc<dyn Resource>, Access) {
    let allocation: Arc<Allocation> = Arc::clone(&buffer.allocation);
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
