//! Memory that host and device both reach.
//!
//! A driver moves managed memory to whoever touches it. A [`Managed`] is a [`Buffer`] to everything that works on the
//! device, and a slice to the host, with a reservation as both have: the host gets to see it only when no work writes it
//! any more, and to write it only when none reads it. Nothing is copied by hand.
//!
//! An emulator has no memory that two could reach: there, what the other has written is copied when one comes to it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton::launch::DeviceValue;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::driver::HostAddress;
use crate::error::Error;
use crate::fence::StreamFence;
use crate::memory::{Allocation, Resource};
use crate::reservation::{Access, Description};
use crate::view::{Readable, View, ViewMut, Writable, sealed};

/// Memory for `len` values of `T` that the device works on and the host looks at.
///
/// It goes where a buffer goes on streams (`read(&managed)`, `write(&mut managed)`, copies and fills), but into no graph.
pub struct Managed<T> {
    buffer: Buffer<T>,
    host: HostAddress,
    newer: Mutex<Newer>,
    values: PhantomData<T>,
}

/// Who has written it since the other has seen it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newer {
    Neither,
    Host,
    Device,
}

impl<T: DeviceValue> Managed<T> {
    /// `len` values of zero bytes.
    ///
    /// # Errors
    /// [`Error::NoManagedMemory`] on a GPU where the host must keep away from managed memory as long as any kernel runs.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self, Error> {
        let (allocation, host) = Allocation::managed(device, Buffer::<T>::size(len)?)?;
        let buffer = Buffer::from_allocation(Arc::new(allocation), len);
        Ok(Self { buffer, host, newer: Mutex::new(Newer::Neither), values: PhantomData })
    }

    /// A copy of `values`.
    pub fn from_slice(device: &Device, values: &[T]) -> Result<Self, Error> {
        let mut managed = Self::zeroed(device, values.len())?;
        managed.as_mut_slice()?.copy_from_slice(values);
        Ok(managed)
    }

    /// The values, when no work writes them any more.
    ///
    /// As long as they are looked at, no work can be told to write them:
    ///
    /// ```compile_fail,E0502
    /// # fn main() -> Result<(), baton_host::Error> {
    /// # let device = baton_host::Device::emulator(Default::default());
    /// # let stream = device.stream()?;
    /// let mut values = baton_host::Managed::<u32>::zeroed(&device, 1)?;
    /// let seen = values.as_slice()?;
    /// stream.fill(&mut values, 1)?; // error: `values` is borrowed by `seen`
    /// println!("{seen:?}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ContentsUnknown`] if work that was to write them has failed.
    pub fn as_slice(&self) -> Result<&[T], Error> {
        let allocation = self.buffer.allocation();
        allocation.ready_for(Access::Read, "looking at managed memory")?;
        self.for_the_host();
        // SAFETY: the memory has `len` values, which any bytes are, aligned for any value. No work writes it: all that
        // was told to has ended, and telling some needs an exclusive borrow, or a graph, which takes none of it. Nor does
        // the line above, as long as anybody looks: after the first time, the device's values are known here.
        Ok(unsafe { std::slice::from_raw_parts(self.host.0.cast(), self.buffer.len()) })
    }

    /// The values, when no work reads or writes them any more.
    ///
    /// # Errors
    /// [`Error::ContentsUnknown`] if work that was to write them has failed. [`write`](Self::write) takes others.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], Error> {
        self.for_writing(Access::Write)
    }

    /// Puts `values` there, whatever there was, when no work reads or writes it any more. The lengths must be equal.
    pub fn write(&mut self, values: &[T]) -> Result<(), Error> {
        if self.len() != values.len() {
            return Err(Error::LengthMismatch { buffer: self.len(), host: values.len() });
        }
        self.for_writing(Access::Overwrite)?.copy_from_slice(values);
        self.buffer.allocation().reservation().lock().forgive();
        Ok(())
    }

    fn for_writing(&mut self, access: Access) -> Result<&mut [T], Error> {
        self.buffer.allocation().ready_for(access, "writing managed memory")?;
        self.for_the_host();
        *self.newer() = Newer::Host;
        // SAFETY: as above; the borrow is exclusive, and no work reads it either.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.host.0.cast(), self.buffer.len()) })
    }

    /// What the device has written, for the host. No work uses it.
    fn for_the_host(&self) {
        let mut newer = self.newer();
        if *newer == Newer::Device {
            self.device().driver().host_sees(self.buffer.address(), self.host, self.buffer.bytes());
            *newer = Newer::Neither;
        }
    }

    /// What the host has written, for the device. No work has been given it since.
    fn for_the_device(&self) {
        let mut newer = self.newer();
        if *newer == Newer::Host {
            let (address, bytes) = (self.buffer.address(), self.buffer.bytes());
            self.device().driver().device_sees(address, self.host, bytes);
            *newer = Newer::Neither;
        }
    }
}

impl<T> sealed::Sealed for Managed<T> {}

impl<T: DeviceValue> Readable for Managed<T> {
    type Value = T;

    fn view(&self) -> View<'_, T> {
        self.for_the_device();
        self.buffer.view()
    }
}

impl<T: DeviceValue> Writable for Managed<T> {
    fn view_mut(&mut self) -> ViewMut<'_, T> {
        self.for_the_device();
        *self.newer() = Newer::Device;
        self.buffer.view_mut()
    }
}

impl<T> Managed<T> {
    fn newer(&self) -> MutexGuard<'_, Newer> {
        self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The device that works on it.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// Which work of streams uses it, and who would wait for whom.
    pub fn describe(&self) -> Description<StreamFence> {
        self.buffer.describe()
    }
}

impl<T> fmt::Debug for Managed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed").field("device", self.device()).field("len", &self.len()).finish()
    }
}
