//! What device work can touch: memory, host memory and loaded code, each with its reservation.
//!
//! A thing that is dropped may still be in use by work that nobody has waited for. Then it becomes a
//! [`Leftover`] of its device, which gives it back when all fences of its reservation have signalled:
//! dropping never blocks.

use std::alloc::Layout;
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::{ALIGNMENT, Backend};
use crate::module::Loaded;
use crate::reservation::{Access, Failure, Fence, Reservation, Status, Usage, Usages};
use crate::stream::{RawGraph, StreamFence, capture};
use crate::{Device, Error};

/// Something that device work touches.
pub(crate) trait Resource: Send + Sync {
    fn device(&self) -> &Device;
    fn reservation(&self) -> &Reservation<StreamFence>;

    /// Waits on the host until it may be accessed so.
    fn ready_for(&self, access: Access, doing: &str) -> Result<(), Error> {
        capture::no_host_wait(doing)?;
        for (fence, _) in self.reservation().fences(access.waits_at()) {
            fence
                .wait(None)
                .map_err(|failure| Error::WorkFailed { what: fence.to_string(), failure })?;
        }
        match self.reservation().failure() {
            Some(failure) if access.needs_contents() => {
                Err(Error::ContentsUnknown { doing: doing.into(), failure })
            }
            _ => Ok(()),
        }
    }

    /// The host puts new contents in the place of the old.
    fn overwrite(&self, doing: &str, write: impl FnOnce() -> Result<(), Error>) -> Result<(), Error>
    where
        Self: Sized,
    {
        self.ready_for(Access::Overwrite, doing)?;
        let written = write();
        let mut guard = self.reservation().lock();
        match &written {
            Ok(()) => guard.forgive(),
            Err(error) => guard.fail(Failure::new(error.to_string())),
        }
        written
    }
}

/// Memory of a device.
pub(crate) struct Allocation {
    device: Device,
    address: u64,
    /// Whether it comes from a stream, and can be given back in a stream's order.
    pooled: bool,
    /// Whether a stream gives it back.
    given_back: bool,
    /// Whose memory it is, if it is not its own.
    owner: Option<Arc<Allocation>>,
    reservation: Reservation<StreamFence>,
}

impl Allocation {
    pub fn new(device: &Device, bytes: usize) -> Result<Self, Error> {
        device.leftovers().sweep(device.backend());
        let address = device.memory().alloc(bytes as u64)?;
        Ok(Self::from_address(device, address, false))
    }

    pub fn from_address(device: &Device, address: u64, pooled: bool) -> Self {
        let reservation = Reservation::new();
        Self {
            device: device.clone(),
            address,
            pooled,
            given_back: false,
            owner: None,
            reservation,
        }
    }

    /// The memory of `owner` with a reservation of its own.
    pub fn alias(owner: &Arc<Allocation>) -> Self {
        let mut alias = Self::from_address(&owner.device, owner.address, false);
        alias.owner = Some(Arc::clone(owner));
        alias
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// A stream has taken it back.
    pub fn forget(mut self) {
        self.given_back = true;
    }
}

impl Resource for Allocation {
    fn device(&self) -> &Device {
        &self.device
    }

    fn reservation(&self) -> &Reservation<StreamFence> {
        &self.reservation
    }
}

/// Keeps the memory of `owner` where it is until `fences` have signalled.
fn keep(owner: &Allocation, fences: Vec<StreamFence>) {
    if fences.is_empty() {
        return;
    }
    match owner.reservation.lock().reserve(fences.len()) {
        Ok(mut guard) => {
            for fence in fences {
                // A slot is reserved for each.
                let _ = guard.add(fence, Usage::Bookkeep);
            }
        }
        Err(_) => fences.iter().for_each(|fence| {
            // There was no memory for them. Whether they failed, their own handle has been asked.
            let _ = fence.wait(None);
        }),
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            keep(&owner, pending(&self.reservation));
        } else if !self.given_back {
            self.device.discard(Leftover::Memory(self.address), &self.reservation);
        }
    }
}

/// Page-locked memory of the host.
pub(crate) struct HostAllocation {
    device: Device,
    address: *mut u8,
    layout: Layout,
    reservation: Reservation<StreamFence>,
}

// SAFETY: it owns the memory; who reads or writes it does so through a buffer's borrows, or as a
// stream's work, which the reservation orders.
unsafe impl Send for HostAllocation {}
// SAFETY: as above.
unsafe impl Sync for HostAllocation {}

impl HostAllocation {
    /// Memory of zero bytes.
    pub fn zeroed(device: &Device, bytes: usize) -> Result<Self, Error> {
        let too_large = |_| Error::TooLarge { len: bytes, size: 1 };
        let layout =
            Layout::from_size_align(bytes.max(1), ALIGNMENT as usize).map_err(too_large)?;
        let address = match device.backend() {
            Backend::Gpu(gpu) => gpu.alloc_host(bytes)?,
            Backend::Emulator(_) => {
                // SAFETY: the layout has at least one byte.
                let address = unsafe { std::alloc::alloc_zeroed(layout) };
                if address.is_null() {
                    return Err(Error::TooLarge { len: bytes, size: 1 });
                }
                address
            }
        };
        if matches!(device.backend(), Backend::Gpu(_)) {
            // SAFETY: the memory was allocated just now, with that many bytes.
            unsafe { address.write_bytes(0, bytes) };
        }
        Ok(Self { device: device.clone(), address, layout, reservation: Reservation::new() })
    }

    pub fn address(&self) -> *mut u8 {
        self.address
    }
}

impl Resource for HostAllocation {
    fn device(&self) -> &Device {
        &self.device
    }

    fn reservation(&self) -> &Reservation<StreamFence> {
        &self.reservation
    }
}

impl Drop for HostAllocation {
    fn drop(&mut self) {
        let leftover = Leftover::Host(HostMemory(self.address), self.layout);
        self.device.discard(leftover, &self.reservation);
    }
}

/// Code that was loaded.
pub(crate) struct LoadedCode {
    device: Device,
    loaded: Arc<Loaded>,
    reservation: Reservation<StreamFence>,
}

impl LoadedCode {
    pub fn new(device: &Device, loaded: Loaded) -> Self {
        let reservation = Reservation::new();
        Self { device: device.clone(), loaded: Arc::new(loaded), reservation }
    }

    pub fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }
}

impl Resource for LoadedCode {
    fn device(&self) -> &Device {
        &self.device
    }

    fn reservation(&self) -> &Reservation<StreamFence> {
        &self.reservation
    }
}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        self.device.discard(Leftover::Code(Arc::clone(&self.loaded)), &self.reservation);
    }
}

/// The fences of a reservation that may not have signalled, asked for only where asking is allowed.
fn pending(reservation: &Reservation<StreamFence>) -> Vec<StreamFence> {
    if capture::is_going_on() {
        let known = reservation.lock();
        let fences = known.iter(Usages::ALL).map(|(fence, _)| fence);
        fences.filter(|fence| fence.status() == Status::Pending).collect()
    } else {
        reservation.fences(Usages::ALL).into_iter().map(|(fence, _)| fence).collect()
    }
}

/// What nobody owns any more.
pub(crate) enum Leftover {
    Memory(u64),
    Host(HostMemory, Layout),
    /// Dropping it is all there is to do.
    Code(#[expect(dead_code, reason = "owned until it is dropped")] Arc<Loaded>),
    Graph(#[expect(dead_code, reason = "owned until it is dropped")] RawGraph),
}

pub(crate) struct HostMemory(*mut u8);

// SAFETY: a leftover's memory is its own.
unsafe impl Send for HostMemory {}

impl Leftover {
    fn give_back(self, backend: &Backend) {
        match (self, backend) {
            (Self::Memory(address), _) => backend.memory().free(address),
            (Self::Host(host, _), Backend::Gpu(gpu)) => gpu.free_host(host.0),
            (Self::Host(host, layout), Backend::Emulator(_)) => {
                // SAFETY: it was allocated with this layout, its buffer is gone, and no stream uses it.
                unsafe { std::alloc::dealloc(host.0, layout) }
            }
            (Self::Code(_) | Self::Graph(_), _) => {}
        }
    }
}

/// The leftovers of a device that work may still be using.
#[derive(Default)]
pub(crate) struct Leftovers(Mutex<Vec<(Leftover, Vec<StreamFence>)>>);

impl Leftovers {
    /// Gives `leftover` back, now or when its fences have signalled.
    pub fn add(
        &self,
        leftover: Leftover,
        reservation: &Reservation<StreamFence>,
        backend: &Backend,
    ) {
        let pending = pending(reservation);
        // A capture forbids to free, too.
        match pending.is_empty() && !capture::is_going_on() {
            true => leftover.give_back(backend),
            false => self.list().push((leftover, pending)),
        }
        self.sweep(backend);
    }

    /// Gives back what is not in use any more.
    pub fn sweep(&self, backend: &Backend) {
        if capture::is_going_on() {
            return;
        }
        let mut list = self.list();
        let mut index = 0;
        while let Some((_, fences)) = list.get_mut(index) {
            fences.retain(|fence| !fence.poll().is_ok_and(|status| status.is_signaled()));
            if fences.is_empty() {
                list.swap_remove(index).0.give_back(backend);
            } else {
                index += 1;
            }
        }
    }

    /// Waits for all of them.
    pub fn finish(&self, backend: &Backend) {
        for (leftover, fences) in self.list().drain(..) {
            // What may still be in use, because a device does not answer, is not given back at all.
            if fences.iter().all(|fence| fence.wait(None).is_ok()) {
                leftover.give_back(backend);
            } else {
                std::mem::forget(leftover);
            }
        }
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<(Leftover, Vec<StreamFence>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
