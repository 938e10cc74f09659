//! Memory of a device, owned by the host.
//!
//! A [`Buffer`] is like a `Box<[T]>` that lies elsewhere: kernels reach it through the slices that
//! it lends, the host through copies. No reference to device memory is ever made, so whatever a
//! kernel does to it, the host only ever sees copied bytes, and [`DeviceValue`] says that any bytes
//! are a value.
//!
//! Work of a [`Stream`](crate::Stream) may still be using a buffer when the host comes to it. Each has
//! a [`Reservation`](crate::reservation::Reservation) that knows: copies wait for what they must wait
//! for, and dropping gives the memory back when everything has ended.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use baton::launch::{DeviceSlice, DeviceSliceMut, DeviceValue};

use crate::device::ALIGNMENT;
use crate::memory::{Allocation, Resource};
use crate::reservation::{Access, Description};
use crate::stream::StreamFence;
use crate::{Device, Error};

/// The byte of which a [poisoned](Buffer::poisoned) buffer is full: as a float it is not a number,
/// as a signed integer -1.
pub const POISON: u8 = 0xff;

/// Memory of a device for `len` values of `T`.
///
/// It keeps its device alive, and is freed when dropped.
pub struct Buffer<T> {
    pub(crate) allocation: Arc<Allocation>,
    len: usize,
    values: PhantomData<T>,
}

impl<T: DeviceValue> Buffer<T> {
    /// Room for `len` values, with whatever bytes were there.
    pub fn alloc(device: &Device, len: usize) -> Result<Self, Error> {
        let allocation = Allocation::new(device, Self::size(len)?)?;
        Ok(Self::from_allocation(Arc::new(allocation), len))
    }

    /// The bytes of `len` values.
    pub(crate) fn size(len: usize) -> Result<usize, Error> {
        const { assert!(align_of::<T>() as u64 <= ALIGNMENT, "buffers are aligned to 256 bytes") };
        len.checked_mul(size_of::<T>()).ok_or(Error::TooLarge { len, size: size_of::<T>() })
    }

    /// The allocation has as many bytes.
    pub(crate) fn from_allocation(allocation: Arc<Allocation>, len: usize) -> Self {
        Self { allocation, len, values: PhantomData }
    }

    /// A copy of `values`.
    pub fn from_slice(device: &Device, values: &[T]) -> Result<Self, Error> {
        let mut buffer = Self::alloc(device, values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// `len` values of zero bytes.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self, Error> {
        let mut buffer = Self::alloc(device, len)?;
        buffer.fill(0)?;
        Ok(buffer)
    }

    /// `len` values of [`POISON`], for results: what a kernel forgot to write shows.
    pub fn poisoned(device: &Device, len: usize) -> Result<Self, Error> {
        let mut buffer = Self::alloc(device, len)?;
        buffer.fill(POISON)?;
        Ok(buffer)
    }

    /// Sets every byte.
    pub fn fill(&mut self, byte: u8) -> Result<(), Error> {
        self.allocation.overwrite("filling a buffer", || {
            self.device().memory().fill(self.address(), self.bytes() as u64, byte)
        })
    }

    /// Copies `values` to the device. The lengths must be equal.
    pub fn write(&mut self, values: &[T]) -> Result<(), Error> {
        self.check_len(values.len())?;
        // SAFETY: the pointer and the size are those of a slice; a `DeviceValue` has no padding, so
        // every byte is initialised.
        let bytes = unsafe {
            std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values))
        };
        self.allocation.overwrite("copying to the device", || {
            self.device().memory().write(self.address(), bytes)
        })
    }

    /// Copies the device's values into `values`. The lengths must be equal.
    pub fn read(&self, values: &mut [T]) -> Result<(), Error> {
        self.check_len(values.len())?;
        // SAFETY: the pointer and the size are those of a slice that is borrowed mutably; any bytes
        // that are written are valid values of a `DeviceValue`.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values))
        };
        self.allocation.ready_for(Access::Read, "copying from the device")?;
        self.device().memory().read(self.address(), bytes)
    }

    /// A copy of the device's values.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        // SAFETY: zero bytes are a value of a `DeviceValue`, as any bytes are.
        let zero: T = unsafe { std::mem::zeroed() };
        let mut values = vec![zero; self.len];
        self.read(&mut values)?;
        Ok(values)
    }

    /// The buffer as an argument that a kernel reads.
    pub fn as_arg(&self) -> DeviceSlice<'_, T> {
        // SAFETY: the memory is this buffer's, aligned for any value (256 bytes), and allocated as
        // long as the borrow lives; a shared borrow excludes all that write it.
        unsafe { DeviceSlice::from_raw(self.device().id(), self.address(), self.len as u64) }
    }

    /// The buffer as an argument that a kernel may write.
    ///
    /// The borrow lasts until the call has been launched, so the host cannot look in between:
    ///
    /// ```compile_fail,E0502
    /// # fn call(_: baton::launch::DeviceSliceMut<'_, u32>) {}
    /// # fn main() -> Result<(), baton_host::Error> {
    /// # let device = baton_host::Device::emulator(Default::default());
    /// let mut buffer = baton_host::Buffer::<u32>::zeroed(&device, 1)?;
    /// let argument = buffer.as_arg_mut();
    /// buffer.to_vec()?; // error: `buffer` is borrowed by the argument of the call below
    /// call(argument);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// and this is fine:
    ///
    /// ```no_run
    /// # fn call(_: baton::launch::DeviceSliceMut<'_, u32>) {}
    /// # fn main() -> Result<(), baton_host::Error> {
    /// # let device = baton_host::Device::emulator(Default::default());
    /// let mut buffer = baton_host::Buffer::<u32>::zeroed(&device, 1)?;
    /// call(buffer.as_arg_mut());
    /// buffer.to_vec()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn as_arg_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: as in `as_arg`; the borrow is exclusive.
        unsafe { DeviceSliceMut::from_raw(self.device().id(), self.address(), self.len as u64) }
    }

    /// The same memory by a second handle, whose accesses this one does not know of, nor it of this one's.
    ///
    /// It is for work that something else orders: other libraries, or waits that are given by hand
    /// ([`Stream::wait_for`](crate::Stream::wait_for)). What is known of the contents is not shared either: a failed
    /// writer spoils only the handle that it was given. The memory is freed after both handles and all their work.
    ///
    /// # Safety
    /// 1. Accesses through the two handles of which one writes are ordered by the caller, host copies included.
    /// 2. A kernel that gets the one as an argument that it writes does not get the other.
    pub unsafe fn untracked_alias(&self) -> Self {
        Self::from_allocation(Arc::new(Allocation::alias(&self.allocation)), self.len)
    }

    fn check_len(&self, host: usize) -> Result<(), Error> {
        if self.len == host {
            Ok(())
        } else {
            Err(Error::LengthMismatch { buffer: self.len, host })
        }
    }
}

impl<T> Buffer<T> {
    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        self.allocation.device()
    }

    /// Where it begins in the device's address space.
    pub(crate) fn address(&self) -> u64 {
        self.allocation.address()
    }

    pub(crate) fn bytes(&self) -> usize {
        // `size` has checked that the product fits.
        self.len * size_of::<T>()
    }

    /// Which work of streams uses the buffer, and who would wait for whom.
    pub fn describe(&self) -> Description<StreamFence> {
        self.allocation.reservation().describe()
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("device", self.device())
            .field("address", &format_args!("{:#x}", self.address()))
            .field("len", &self.len)
            .finish()
    }
}
