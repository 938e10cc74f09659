//! Host memory that streams copy from and to.
//!
//! A driver copies in the background only from pages that are locked in place. A [`Pinned`] owns such
//! memory, and has a reservation like a [`Buffer`](crate::Buffer): the host gets to see it only when no
//! stream writes it any more, and to write it only when none reads it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use baton::launch::DeviceValue;

use crate::device::Device;
use crate::driver::ALIGNMENT;
use crate::error::Error;
use crate::fence::StreamFence;
use crate::memory::{HostAllocation, Resource};
use crate::reservation::{Access, Description};

/// Page-locked host memory for `len` values of `T`.
pub struct Pinned<T> {
    pub(crate) allocation: Arc<HostAllocation>,
    len: usize,
    values: PhantomData<T>,
}

impl<T: DeviceValue> Pinned<T> {
    /// `len` values of zero bytes, for the streams of `device`.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self, Error> {
        const { assert!(align_of::<T>() as u64 <= ALIGNMENT, "buffers are aligned to 256 bytes") };
        let bytes =
            len.checked_mul(size_of::<T>()).ok_or(Error::TooLarge { len, size: size_of::<T>() })?;
        let allocation = HostAllocation::zeroed(device, bytes)?;
        Ok(Self { allocation: Arc::new(allocation), len, values: PhantomData })
    }

    /// A copy of `values`.
    pub fn from_slice(device: &Device, values: &[T]) -> Result<Self, Error> {
        let mut pinned = Self::zeroed(device, values.len())?;
        pinned.as_mut_slice()?.copy_from_slice(values);
        Ok(pinned)
    }

    /// The values, when no stream writes them any more.
    ///
    /// As long as they are looked at, no stream can be told to write them:
    ///
    /// ```compile_fail,E0502
    /// # fn main() -> Result<(), baton_host::Error> {
    /// # let device = baton_host::Device::emulator(Default::default());
    /// # let (stream, buffer) = (device.stream()?, baton_host::Buffer::<u32>::zeroed(&device, 1)?);
    /// let mut host = baton_host::Pinned::<u32>::zeroed(&device, 1)?;
    /// let values = host.as_slice()?;
    /// stream.download(&buffer, &mut host)?; // error: `host` is borrowed by `values`
    /// println!("{values:?}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn as_slice(&self) -> Result<&[T], Error> {
        self.allocation.ready_for(Access::Read, "looking at page-locked memory")?;
        // SAFETY: the memory has `len` values, which any bytes are, aligned for any value. No stream
        // writes it: all that were told to have ended, and telling one needs an exclusive borrow.
        Ok(unsafe { std::slice::from_raw_parts(self.allocation.address().0.cast(), self.len) })
    }

    /// The values, when no stream reads or writes them any more.
    ///
    /// # Errors
    /// [`Error::ContentsUnknown`] if work that was to write them has failed. [`write`](Self::write) takes others.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], Error> {
        self.for_writing(Access::Write)
    }

    /// Puts `values` there, whatever there was, when no stream reads or writes it any more. The lengths must be equal.
    pub fn write(&mut self, values: &[T]) -> Result<(), Error> {
        if self.len != values.len() {
            return Err(Error::LengthMismatch { buffer: self.len, host: values.len() });
        }
        self.for_writing(Access::Overwrite)?.copy_from_slice(values);
        self.allocation.reservation().lock().forgive();
        Ok(())
    }

    fn for_writing(&mut self, access: Access) -> Result<&mut [T], Error> {
        self.allocation.ready_for(access, "writing page-locked memory")?;
        // SAFETY: as above; the borrow is exclusive, and no stream reads it either.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.allocation.address().0.cast(), self.len) })
    }
}

impl<T> Pinned<T> {
    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose streams copy from and to it.
    pub fn device(&self) -> &Device {
        self.allocation.device()
    }

    /// Which work of streams uses it, and who would wait for whom.
    pub fn describe(&self) -> Description<StreamFence> {
        self.allocation.reservation().describe()
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("device", self.device()).field("len", &self.len).finish()
    }
}
