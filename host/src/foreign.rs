//! What other libraries own: their streams, events and memory, used here by the handles that the driver gave them.
//!
//! All of it is of a GPU; an emulator has no such handles and says [`Error::Unsupported`].

use std::ffi::c_void;
use std::sync::Arc;

use baton::launch::DeviceValue;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;
use crate::memory::Allocation;
use crate::stream::Stream;

impl Device {
    /// A stream that another library owns (`CUstream`), to give work to. It is not destroyed when this is dropped.
    ///
    /// What is given here is ordered by the buffers as on any stream; what the other library gives it, nobody here
    /// knows of, except that it is in the same order.
    ///
    /// # Safety
    /// 1. `raw` is a stream of this GPU's primary context, and not the legacy or the per-thread default stream.
    /// 2. It is not destroyed before the result is dropped, and no work is given to it at the same time from elsewhere
    ///    while it is captured.
    pub unsafe fn foreign_stream(&self, raw: *mut c_void) -> Result<Stream, Error> {
        self.driver().alive("using another library's stream")?;
        // SAFETY: the caller's.
        let queue = unsafe { self.driver().foreign_queue(raw) }?;
        Ok(Stream::from_lane(self, self.lane_of(queue)))
    }

    /// Memory that another library owns, as a buffer of `len` values. It is not freed when the buffer is dropped.
    ///
    /// # Safety
    /// 1. At `address`, this device has `len` values of `T`, aligned for them.
    /// 2. They are not freed before all work has ended that was given the buffer.
    /// 3. Accesses from elsewhere of which one writes are ordered by the caller.
    pub unsafe fn foreign_buffer<T: DeviceValue>(
        &self,
        address: u64,
        len: usize,
    ) -> Result<Buffer<T>, Error> {
        if self.is_emulator() {
            let device = self.name().into();
            return Err(Error::Unsupported { what: "memory of another library", device });
        }
        Buffer::<T>::size(len)?;
        Ok(Buffer::from_allocation(Arc::new(Allocation::foreign(self, address)), len))
    }
}

impl Stream {
    /// The driver's handle (`CUstream`), for other libraries; `None` on an emulator.
    ///
    /// What they give the stream is in its order, and no buffer here knows of it.
    pub fn as_raw(&self) -> Option<*mut c_void> {
        self.lane().raw()
    }

    /// Work that the stream is given from now on waits for another library's event (`CUevent`).
    ///
    /// # Safety
    /// `event` is an event that has not been destroyed, of a context of this process.
    pub unsafe fn wait_for_foreign(&self, event: *mut c_void) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { self.lane().wait_for_foreign(event) }
    }
}

impl<T> Buffer<T> {
    /// Where the buffer begins in the device's address space (`CUdeviceptr`), for other libraries.
    ///
    /// What they do there, the buffer does not know of: order it by events, or wait.
    pub fn as_raw(&self) -> u64 {
        self.address()
    }
}
