//! One piece of work, described before a stream is given it or a capture puts it down.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use baton::launch::{Call, DeviceValue};

use crate::arguments::{Arguments, Before, KernelTaking};
use crate::check;
use crate::device::Device;
use crate::driver::{Queue, Rows};
use crate::error::Error;
use crate::grid::Grid;
use crate::lane::Giver;
use crate::memory::{Allocation, Resource};
use crate::module::Module;
use crate::pinned::Pinned;
use crate::reservation::Access;
use crate::tensor_map::Matrix;
use crate::view::{View, ViewMut};

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
        from: View<'_, T>,
        to: ViewMut<'_, T>,
    ) -> Result<Self, Error> {
        let between = [from.device(), to.device()];
        match between.map(|of| of == device) {
            [false, false] => return Err(Error::ForeignBuffer { doing: "copying" }),
            _ if between[0].is_emulator() != between[1].is_emulator() => {
                let [from, to] = between.map(|of| of.name().to_owned());
                return Err(Error::NoPeers { from, to });
            }
            _ => {}
        }
        same_length(from.len(), to.len())?;
        let (source, destination, bytes) = (from.address(), to.address(), from.bytes());
        let touched = vec![reads(&from), writes(&to)];
        if between[0] != between[1] {
            let [from, to] = between.map(|of| Arc::clone(of.driver()));
            return Ok(Self::bytes(touched, "copy between devices", bytes, move |queue| {
                queue.copy_between((&*from, source), (&*to, destination), bytes)
            }));
        }
        Ok(Self::bytes(touched, "copy", bytes, move |queue| queue.copy(source, destination, bytes)))
    }

    /// What is between the rows of the destination stays.
    pub fn copy_matrix<T: DeviceValue>(
        device: &Device,
        (from, source): (View<'_, T>, Matrix),
        (to, destination): (ViewMut<'_, T>, Matrix),
    ) -> Result<Self, Error> {
        own(device, [from.device(), to.device()], "copying")?;
        source.fits(from.len())?;
        destination.fits(to.len())?;
        let shape = |matrix: Matrix| (matrix.rows, matrix.cols);
        if shape(source) != shape(destination) {
            return Err(Error::MatrixShapes { from: shape(source), to: shape(destination) });
        }
        // Both fit their buffers, whose bytes have been counted.
        let bytes = |values: u64| values as usize * size_of::<T>();
        let rows = Rows {
            from: from.address(),
            from_pitch: bytes(source.pitch),
            to: to.address(),
            to_pitch: bytes(destination.pitch),
            width: bytes(source.cols),
            height: source.rows as usize,
        };
        let allocation = Arc::clone(to.allocation());
        let touched = vec![reads(&from), (allocation as Arc<dyn Resource>, Access::Write)];
        let some = rows.width * rows.height;
        Ok(Self::bytes(touched, "copy of rows", some, move |queue| queue.copy_rows(rows)))
    }

    pub fn fill<T: DeviceValue>(
        device: &Device,
        memory: ViewMut<'_, T>,
        byte: u8,
    ) -> Result<Self, Error> {
        own(device, [memory.device()], "filling")?;
        let (address, bytes) = (memory.address(), memory.bytes());
        let touched = vec![writes(&memory)];
        Ok(Self::bytes(touched, "fill", bytes, move |queue| queue.fill(address, bytes, byte)))
    }

    pub fn upload<T: DeviceValue>(
        device: &Device,
        from: &Pinned<T>,
        to: ViewMut<'_, T>,
    ) -> Result<Self, Error> {
        own(device, [from.device(), to.device()], "copying to the device")?;
        same_length(from.len(), to.len())?;
        let (source, destination) = (from.allocation.address(), to.address());
        let bytes = to.bytes();
        let touched =
            vec![(Arc::clone(&from.allocation) as Arc<dyn Resource>, Access::Read), writes(&to)];
        Ok(Self::bytes(touched, "upload", bytes, move |queue| {
            queue.upload(source, destination, bytes)
        }))
    }

    pub fn download<T: DeviceValue>(
        device: &Device,
        from: View<'_, T>,
        to: &mut Pinned<T>,
    ) -> Result<Self, Error> {
        own(device, [from.device(), to.device()], "copying from the device")?;
        same_length(from.len(), to.len())?;
        let (source, destination) = (from.address(), to.allocation.address());
        let bytes = from.bytes();
        let touched = vec![
            reads(&from),
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

fn reads<T>(memory: &View<'_, T>) -> (Arc<dyn Resource>, Access) {
    let allocation: Arc<Allocation> = Arc::clone(memory.allocation());
    (allocation, Access::Read)
}

fn writes<T: DeviceValue>(memory: &ViewMut<'_, T>) -> (Arc<dyn Resource>, Access) {
    let allocation: Arc<Allocation> = Arc::clone(memory.allocation());
    (allocation, memory.overwrites())
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
