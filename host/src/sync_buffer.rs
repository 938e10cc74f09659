//! Words by which the CTAs of a launch synchronise.

use baton::launch::SyncWords;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;

/// The state of a [protocol](baton::protocol): `objects` times `N` words, zeroed for each launch (rule A14).
///
/// ```no_run
/// # mod kernel {
/// #     use baton::prelude::*;
/// #     use baton::protocol::SpinLock;
/// #     #[baton::kernel(threads = 32)]
/// #     pub fn totals(cta: Cta<'_, NoShared, 32>, totals: SpinLock<u32>) -> Exit<'_> {
/// #         let mut cta = cta;
/// #         totals.lock(&mut cta).update(&mut cta, |_, n| n + 1).release(&mut cta);
/// #         let (cta, ()) = cta.claim();
/// #         cta.join().exit(())
/// #     }
/// # }
/// # use baton_host::{Buffer, Device, Module, SyncBuffer};
/// # fn locked(device: Device, module: Module) -> Result<(), baton_host::Error> {
/// # let mut totals = Buffer::<u32>::zeroed(&device, 4)?;
/// let mut lock = SyncBuffer::<1>::new(&device)?;
/// let report = device.launch(&module, 8, kernel::totals((lock.reset()?, totals.as_arg_mut())))?;
/// # drop(report);
/// # Ok(())
/// # }
/// ```
///
/// What [`reset`](Self::reset) gives serves one launch:
///
/// ```compile_fail,E0382
/// # fn call(_: baton::launch::SyncWords<'_, 1>) {}
/// # fn main() -> Result<(), baton_host::Error> {
/// # let device = baton_host::Device::emulator(Default::default());
/// let mut lock = baton_host::SyncBuffer::<1>::new(&device)?;
/// let words = lock.reset()?;
/// call(words);
/// call(words); // error: the words were given to the call above
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SyncBuffer<const N: usize> {
    words: Buffer<u32>,
}

impl<const N: usize> SyncBuffer<N> {
    /// The words of one object.
    pub fn new(device: &Device) -> Result<Self, Error> {
        Self::array(device, 1)
    }

    /// The words of `objects` objects, of one at least.
    pub fn array(device: &Device, objects: usize) -> Result<Self, Error> {
        let len = objects.max(1).checked_mul(N);
        let len = len.ok_or(Error::TooLarge { len: objects, size: N * size_of::<u32>() })?;
        Ok(Self { words: Buffer::alloc(device, len)? })
    }

    /// The words, and their buffer, in which the caller zeroes them in the order of a stream before the launch that
    /// is given them.
    pub(crate) fn lend_unzeroed(&mut self) -> (&Buffer<u32>, SyncWords<'_, N>) {
        // SAFETY: (2) the caller zeroes them.
        (&self.words, unsafe { self.words() })
    }

    /// The words.
    ///
    /// # Safety
    /// They are zero when the kernel that is given them begins.
    unsafe fn words(&self) -> SyncWords<'_, N> {
        let objects = self.words.len().checked_div(N).unwrap_or(1) as u64;
        let (device, address) = (self.words.device().id(), self.words.address());
        // SAFETY: (1) the buffer's words, which the callers' exclusive borrow keeps for the launch alone, and which
        // nothing else can reach before it; (2) is the caller's.
        let words = unsafe { SyncWords::from_raw(device, address, objects) };
        // SAFETY: the buffer's allocation is all that they are a part of.
        unsafe { words.owned_by(self.words.owner()) }
    }

    /// Zeroes the words and gives them to one launch.
    pub fn reset(&mut self) -> Result<SyncWords<'_, N>, Error> {
        self.words.fill(0)?;
        // SAFETY: (2) zeroed above, behind all that use them, and the launch comes behind that.
        Ok(unsafe { self.words() })
    }
}
