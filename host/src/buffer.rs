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

use baton::launch::{DeviceSlice, DeviceSliceMut, DeviceValue, Owner};

use crate::device::Device;
use crate::driver::ALIGNMENT;
use crate::error::Error;
use crate::fence::StreamFence;
use crate::lane::{Giver, Lane};
use crate::memory::{Allocation, Lender, Resource};
use crate::reservation::{Access, Description};
use crate::transfer::{self, Staged};

/// The byte of which a [poisoned](Buffer::poisoned) buffer is full: as a float it is not a number,
/// as a signed integer -1.
pub const POISON: u8 = 0xff;

/// Memory of a device for `len` values of `T`.
///
/// It keeps its device alive, and is freed when dropped.
pub struct Buffer<T> {
    memory: Lender,
    len: usize,
    values: PhantomData<T>,
}

impl<T: DeviceValue> Buffer<T> {
    /// Room for `len` values, with whatever bytes were there.
    pub fn alloc(device: &Device, len: usize) -> Result<Self, Error> {
        Self::beginning(device, device.own(), len, |_, _| Ok(())).map(|(buffer, _)| buffer)
    }

    /// Room for `len` values in the order of `lane`, and what it begins with: all of it one piece of work.
    pub(crate) fn beginning(
        device: &Device,
        lane: &Lane,
        len: usize,
        begin: impl Fn(&Giver<'_>, u64) -> Result<(), Error>,
    ) -> Result<(Self, StreamFence), Error> {
        let (allocation, fence) =
            Allocation::new(device, lane, Self::size(len)?, "allocate", begin)?;
        Ok((Self::from_allocation(Arc::new(allocation), len), fence))
    }

    /// The bytes of `len` values.
    pub(crate) fn size(len: usize) -> Result<usize, Error> {
        const { assert!(align_of::<T>() as u64 <= ALIGNMENT, "buffers are aligned to 256 bytes") };
        len.checked_mul(size_of::<T>()).ok_or(Error::TooLarge { len, size: size_of::<T>() })
    }

    /// The allocation has as many bytes.
    pub(crate) fn from_allocation(allocation: Arc<Allocation>, len: usize) -> Self {
        Self { memory: Lender(allocation), len, values: PhantomData }
    }

    /// A copy of `values`.
    pub fn from_slice(device: &Device, values: &[T]) -> Result<Self, Error> {
        let staged = Staged::new(device);
        let bytes = bytes_of(values);
        let made = Self::beginning(device, device.own(), values.len(), |giver, address| {
            staged.put(giver, address, bytes)
        });
        staged.end(made.as_ref().ok().map(|(_, fence)| fence.clone()));
        Ok(made?.0)
    }

    /// `len` values of zero bytes.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self, Error> {
        Self::filled(device, len, 0)
    }

    /// `len` values of [`POISON`], for results: what a kernel forgot to write shows.
    pub fn poisoned(device: &Device, len: usize) -> Result<Self, Error> {
        Self::filled(device, len, POISON)
    }

    fn filled(device: &Device, len: usize, byte: u8) -> Result<Self, Error> {
        let bytes = Self::size(len)?;
        let made = Self::beginning(device, device.own(), len, |giver, address| match bytes {
            0 => Ok(()),
            _ => giver.give(|queue| queue.fill(address, bytes, byte)),
        });
        made.map(|(buffer, _)| buffer)
    }

    /// Sets every byte.
    pub fn fill(&mut self, byte: u8) -> Result<(), Error> {
        transfer::fill(self.allocation(), 0, self.bytes(), byte, Access::Overwrite)
    }

    /// Copies `values` to the device. The lengths must be equal.
    ///
    /// `values` may be used for something else when this returns; that they have arrived is what later work on the
    /// buffer waits for.
    pub fn write(&mut self, values: &[T]) -> Result<(), Error> {
        self.check_len(values.len())?;
        transfer::write(self.allocation(), 0, bytes_of(values), Access::Overwrite)
    }

    /// Copies the device's values into `values`. The lengths must be equal.
    pub fn read(&self, values: &mut [T]) -> Result<(), Error> {
        self.check_len(values.len())?;
        transfer::read(self.allocation(), 0, bytes_of_mut(values))
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
        let slice =
            unsafe { DeviceSlice::from_raw(self.device().id(), self.address(), self.len as u64) };
        // SAFETY: the buffer's allocation is all that the memory is a part of.
        unsafe { slice.owned_by(&self.memory) }
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
        let slice = unsafe {
            DeviceSliceMut::from_raw(self.device().id(), self.address(), self.len as u64)
        };
        // SAFETY: as in `as_arg`.
        unsafe { slice.owned_by(&self.memory) }
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
        Self::from_allocation(Arc::new(Allocation::alias(self.allocation())), self.len)
    }

    fn check_len(&self, host: usize) -> Result<(), Error> {
        if self.len == host {
            Ok(())
        } else {
            Err(Error::LengthMismatch { buffer: self.len, host })
        }
    }
}

/// The bytes of values.
pub(crate) fn bytes_of<T: DeviceValue>(values: &[T]) -> &[u8] {
    // SAFETY: the pointer and the size are those of a slice; a `DeviceValue` has no padding, so every byte is
    // initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }
}

/// The same, to write.
pub(crate) fn bytes_of_mut<T: DeviceValue>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: the pointer and the size are those of a slice that is borrowed mutably; any bytes that are written are
    // valid values of a `DeviceValue`.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values)) }
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
        self.allocation().device()
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.memory.0
    }

    pub(crate) fn into_allocation(self) -> Arc<Allocation> {
        self.memory.0
    }

    /// Who answers for the memory where it is lent.
    pub(crate) fn owner(&self) -> &dyn Owner {
        &self.memory
    }

    pub(crate) fn lender(&self) -> &Lender {
        &self.memory
    }

    /// Where it begins in the device's address space.
    pub(crate) fn address(&self) -> u64 {
        self.allocation().address()
    }

    pub(crate) fn bytes(&self) -> usize {
        // `size` has checked that the product fits.
        self.len * size_of::<T>()
    }

    /// Which work of streams uses the buffer, and who would wait for whom.
    pub fn describe(&self) -> Description<StreamFence> {
        self.allocation().reservation().describe()
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
