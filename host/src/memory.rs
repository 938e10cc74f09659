//! What device work can touch: memory, host memory and loaded code, each with its reservation.
//!
//! Dropping is work too, and never waits: memory is given back in the order of the work that uses it, and what has no
//! such order (page-locked memory, code) is left over until its fences have signalled.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use baton::launch::{Owner, Touched};

use crate::capturing;
use crate::device::Device;
use crate::driver::{Code, Driver, HostAddress, Kernel};
use crate::error::Error;
use crate::fence::StreamFence;
use crate::lane::{Giver, Lane};
use crate::leftover::pending;
use crate::reservation::{Access, Fence, Reservation, Status, Usage, Usages};

/// Something that device work touches.
pub(crate) trait Resource: Any + Send + Sync {
    fn device(&self) -> &Device;
    fn reservation(&self) -> &Reservation<StreamFence>;

    /// Whether the host looks at it by references when no work uses it: then it must be known when that is.
    fn is_managed(&self) -> bool {
        false
    }

    /// Waits on the host until it may be accessed so.
    fn ready_for(&self, access: Access, doing: &str) -> Result<(), Error> {
        capturing::forbid(doing)?;
        for (fence, _) in self.reservation().fences(access.waits_at()) {
            fence.wait(None).map_err(|failure| fence.failed(failure))?;
        }
        match self.reservation().failure() {
            Some(failure) if access.needs_contents() => {
                Err(Error::ContentsUnknown { doing: doing.into(), failure })
            }
            _ => Ok(()),
        }
    }
}

/// Memory of a device.
pub(crate) struct Allocation {
    device: Device,
    address: u64,
    /// Whether a stream has given it back, or somebody else does.
    given_back: bool,
    /// Whose memory it is, if it is not its own.
    owner: Option<Arc<Allocation>>,
    /// Where the host sees it, and how many bytes, if it is managed.
    managed: Option<(HostAddress, usize)>,
    reservation: Reservation<StreamFence>,
}

impl Allocation {
    /// Memory in the order of `lane`, and what it begins with: all of it one piece of work.
    pub fn new(
        device: &Device,
        lane: &Lane,
        bytes: usize,
        label: &'static str,
        begin: impl Fn(&Giver<'_>, u64) -> Result<(), Error>,
    ) -> Result<(Self, StreamFence), Error> {
        capturing::forbid("allocating")?;
        device.with_memory(|| {
            let (reservation, address) = (Reservation::new(), Cell::new(None));
            // Everybody waits for work that has put the memory in its place.
            let submitted = lane.submit(&[(&reservation, Access::Move)], label, |giver| {
                let place = giver.give(|queue| queue.alloc(bytes))?;
                address.set(Some(place));
                begin(giver, place)
            });
            // If it could not begin so, it is given back as any other.
            let allocation = address.get().map(|address| Self::at(device, address, reservation));
            let ((), fence) = submitted?;
            Ok((allocation.ok_or(Error::ForeignFence)?, fence))
        })
    }

    fn at(device: &Device, address: u64, reservation: Reservation<StreamFence>) -> Self {
        Self {
            device: device.clone(),
            address,
            given_back: false,
            owner: None,
            managed: None,
            reservation,
        }
    }

    /// Memory that the host sees too, of zero bytes.
    pub fn managed(device: &Device, bytes: usize) -> Result<(Self, HostAddress), Error> {
        capturing::forbid("allocating managed memory")?;
        let driver = device.driver();
        let (address, host) = device.with_memory(|| driver.alloc_managed(bytes))?;
        let mut memory = Self::at(device, address, Reservation::new());
        memory.managed = Some((host, bytes));
        // SAFETY: the memory was allocated just now, with that many bytes, and no work has been given it.
        unsafe { host.0.write_bytes(0, bytes) };
        driver.device_sees(address, host, bytes);
        Ok((memory, host))
    }

    /// Memory that somebody else frees.
    pub fn foreign(device: &Device, address: u64) -> Self {
        let mut memory = Self::at(device, address, Reservation::new());
        memory.given_back = true;
        memory
    }

    /// The memory of `owner` with a reservation of its own.
    pub fn alias(owner: &Arc<Allocation>) -> Self {
        let mut alias = Self::at(&owner.device, owner.address, Reservation::new());
        alias.owner = Some(Arc::clone(owner));
        alias
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whether a stream can give it back in its order.
    pub fn is_of_a_pool(&self) -> bool {
        let is_own = self.owner.is_none() && self.managed.is_none();
        is_own && !self.given_back && self.device.driver().frees_in_order()
    }

    /// A stream has given it back.
    pub fn forget(mut self) {
        self.given_back = true;
    }

    /// What work uses it, as far as is known; asked for only where it matters.
    fn users(&self) -> Vec<StreamFence> {
        let known: Vec<StreamFence> = {
            let guard = self.reservation.lock();
            let fences = guard.iter(Usages::all()).map(|(fence, _)| fence);
            fences.filter(|fence| fence.status() == Status::Pending).collect()
        };
        match known.windows(2).any(|pair| pair[0].context() != pair[1].context()) {
            true => pending(&self.reservation),
            false => known,
        }
    }
}

impl Resource for Allocation {
    fn device(&self) -> &Device {
        &self.device
    }

    fn is_managed(&self) -> bool {
        self.managed.is_some()
    }

    fn reservation(&self) -> &Reservation<StreamFence> {
        &self.reservation
    }
}

/// The owner of memory that calls are given: what a launch touches is the allocation.
pub(crate) struct Lender(pub Arc<Allocation>);

impl Owner for Lender {
    fn touch(&self, writes: bool, touched: &mut Touched) {
        let allocation: Arc<Allocation> = Arc::clone(&self.0);
        touched.push(allocation, writes);
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
        if self.given_back {
            return;
        }
        let users = self.users();
        if let Some(owner) = self.owner.take() {
            return keep(&owner, users);
        }
        let device = &self.device;
        if let Some((host, bytes)) = self.managed {
            let (driver, address) = (Arc::clone(device.driver()), self.address);
            return device.keep(Box::new(ManagedMemory { driver, address, host, bytes }), users);
        }
        let in_order = !capturing::is_held_back()
            && device.driver().frees_in_order()
            && device.free_in_order(self.address, &self.reservation, &users);
        if !in_order {
            let memory = Memory { driver: Arc::clone(device.driver()), address: self.address };
            device.keep(Box::new(memory), users);
        }
    }
}

/// Memory that is given back when nothing uses it any more.
struct Memory {
    driver: Arc<dyn Driver>,
    address: u64,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.driver.free(self.address);
    }
}

/// The same, which the host has seen too.
struct ManagedMemory {
    driver: Arc<dyn Driver>,
    address: u64,
    host: HostAddress,
    bytes: usize,
}

impl Drop for ManagedMemory {
    fn drop(&mut self) {
        self.driver.free_managed(self.address, self.host, self.bytes);
    }
}

/// Page-locked memory of the host.
pub(crate) struct HostAllocation {
    device: Device,
    memory: Option<HostMemory>,
    address: HostAddress,
    reservation: Reservation<StreamFence>,
}

struct HostMemory {
    driver: Arc<dyn Driver>,
    address: HostAddress,
    bytes: usize,
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        self.driver.free_host(self.address, self.bytes);
    }
}

impl HostAllocation {
    /// Memory of zero bytes.
    pub fn zeroed(device: &Device, bytes: usize) -> Result<Self, Error> {
        capturing::forbid("allocating host memory")?;
        device.tidy();
        let driver = Arc::clone(device.driver());
        let address = driver.alloc_host(bytes)?;
        // SAFETY: the memory was allocated just now, with that many bytes.
        unsafe { address.0.write_bytes(0, bytes) };
        let memory = Some(HostMemory { driver, address, bytes });
        Ok(Self { device: device.clone(), memory, address, reservation: Reservation::new() })
    }

    pub fn address(&self) -> HostAddress {
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
        if let Some(memory) = self.memory.take() {
            self.device.keep(Box::new(memory), pending(&self.reservation));
        }
    }
}

/// Code that was loaded, with the kernels of it that were launched.
pub(crate) struct LoadedCode {
    device: Device,
    code: Arc<dyn Code>,
    kernels: RwLock<HashMap<&'static str, Arc<dyn Kernel>>>,
    reservation: Reservation<StreamFence>,
}

impl LoadedCode {
    pub fn new(device: &Device, code: Arc<dyn Code>) -> Self {
        let (kernels, reservation) = (RwLock::default(), Reservation::new());
        Self { device: device.clone(), code, kernels, reservation }
    }

    pub fn code(&self) -> &dyn Code {
        &*self.code
    }

    /// The kernel, which is looked up once.
    pub fn kernel(&self, name: &'static str) -> Result<Arc<dyn Kernel>, Error> {
        let known = self.kernels.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(kernel) = known {
            return Ok(kernel);
        }
        let kernel = self.code.kernel(name)?;
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(kernels.entry(name).or_insert(kernel)))
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
        let kernels =
            std::mem::take(self.kernels.get_mut().unwrap_or_else(PoisonError::into_inner));
        let code = (kernels, Arc::clone(&self.code));
        self.device.keep(Box::new(code), pending(&self.reservation));
    }
}
