//! Finding a device, and what all of it has in common.
//!
//! A [`Device`] is a GPU or an emulator. Both do the same few things (memory, orders of work, code, encoding tensor
//! maps) behind [`driver`](crate::driver), and nothing from here upwards asks which it is.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use baton::launch::DeviceId;

use crate::capturing;
use crate::choice::{Choice, OVERRIDE};
#[cfg(feature = "emulator")]
use crate::driver::emulator::{self, Emulator};
#[cfg(feature = "gpu")]
use crate::driver::gpu::{self, GpuDriver};
use crate::driver::{Driver, Queue, WaitPolicy, Want};
use crate::error::Error;
use crate::fence::StreamFence;
use crate::image::Image;
use crate::lane::Lane;
use crate::leftover::{Leftover, Leftovers};
use crate::options::EmulatorOptions;
use crate::reservation::{Access, ContextId, Fence, Reservation, Status};
use crate::staging::Staging;

/// A GPU, or the emulator.
///
/// Clones are the same device. Buffers and modules keep theirs alive.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    id: DeviceId,
    driver: Arc<dyn Driver>,
    fallback: Option<Error>,
    /// The order of what the host does itself: its copies, and launches that it waits for.
    own: Lane,
    /// The order in which memory is given back that several orders have used: it waits for all of them, and nobody
    /// waits for it.
    reclaiming: OnceLock<Lane>,
    /// The orders of streams, for memory that only one of them has used.
    lanes: Mutex<HashMap<ContextId, std::sync::Weak<Lane>>>,
    /// The latest of what gives memory back, in each order.
    frees: Mutex<Vec<StreamFence>>,
    leftovers: Leftovers,
    staging: Staging,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let staging = std::mem::take(&mut self.staging);
        let leftovers = std::mem::take(&mut self.leftovers);
        capturing::elsewhere(move || {
            staging.finish();
            leftovers.finish();
        });
    }
}

/// A device that could be opened, as [`Device::list`] found it.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The choice that opens it.
    pub choice: Choice,
    /// What it is called.
    pub name: String,
    /// A GPU's compute capability, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Bytes of its global memory, where that is fixed.
    pub memory: Option<u64>,
}

impl Device {
    /// The device for an image: the first GPU that can run it, else the emulator.
    ///
    /// `BATON_DEVICE` overrides. If it is the emulator because no GPU would do,
    /// [`Device::fallback`] says why.
    pub fn auto(image: &Image) -> Result<Self, Error> {
        Self::open(Choice::Auto, image, EmulatorOptions::default())
    }

    /// The chosen device; `options` count if it is the emulator.
    pub fn open(choice: Choice, image: &Image, options: EmulatorOptions) -> Result<Self, Error> {
        match choice.overridden_by(std::env::var_os(OVERRIDE).as_deref())? {
            Choice::Gpu(index) => Self::of_gpu(index),
            Choice::Emulator => Self::of_emulator(options, None),
            Choice::Auto => match Self::first_fitting_gpu(image) {
                Ok(gpu) => Ok(gpu),
                Err(reason) => Self::of_emulator(options, Some(reason)),
            },
        }
    }

    /// The GPU of that number, counted from 0 as the driver does.
    #[cfg(feature = "gpu")]
    pub fn gpu(index: usize) -> Result<Self, Error> {
        Self::of_gpu(index)
    }

    /// A new emulator. Every one is a device of its own, with its own memory.
    #[cfg(feature = "emulator")]
    pub fn emulator(options: EmulatorOptions) -> Self {
        let made = Self::of_emulator(options, None);
        made.expect("an emulator needs nothing that could be missing")
    }

    /// Every device that can be opened: the GPUs, then the emulator.
    ///
    /// Nothing is opened for it. A GPU that the driver shows and does not describe is left out.
    pub fn list() -> Vec<DeviceInfo> {
        Self::gpus().into_iter().chain(Self::emulator_info()).collect()
    }

    #[cfg(feature = "gpu")]
    fn gpus() -> Vec<DeviceInfo> {
        let gpus = (0..gpu::count().unwrap_or(0)).filter_map(|index| {
            let facts = gpu::facts(index).ok()?;
            Some(DeviceInfo {
                choice: Choice::Gpu(index),
                name: facts.name,
                compute_capability: Some(facts.compute_capability),
                memory: Some(facts.memory),
            })
        });
        gpus.collect()
    }

    #[cfg(not(feature = "gpu"))]
    fn gpus() -> Vec<DeviceInfo> {
        Vec::new()
    }

    #[cfg(feature = "emulator")]
    fn emulator_info() -> Option<DeviceInfo> {
        let (choice, name) = (Choice::Emulator, emulator::NAME.into());
        Some(DeviceInfo { choice, name, compute_capability: None, memory: None })
    }

    #[cfg(not(feature = "emulator"))]
    fn emulator_info() -> Option<DeviceInfo> {
        None
    }

    #[cfg(feature = "gpu")]
    fn of_gpu(index: usize) -> Result<Self, Error> {
        Self::new(Arc::new(GpuDriver::open(index)?), None)
    }

    #[cfg(not(feature = "gpu"))]
    fn of_gpu(_index: usize) -> Result<Self, Error> {
        Err(Error::NotBuilt { what: "GPUs", feature: "gpu" })
    }

    #[cfg(feature = "emulator")]
    fn of_emulator(options: EmulatorOptions, fallback: Option<Error>) -> Result<Self, Error> {
        Self::new(Arc::new(Emulator::new(options)), fallback)
    }

    #[cfg(not(feature = "emulator"))]
    fn of_emulator(_options: EmulatorOptions, fallback: Option<Error>) -> Result<Self, Error> {
        // Why no GPU would do says more than that there is nothing else.
        Err(fallback.unwrap_or(Error::NotBuilt { what: "the emulator", feature: "emulator" }))
    }

    #[cfg(not(feature = "gpu"))]
    fn first_fitting_gpu(_image: &Image) -> Result<Self, Error> {
        Self::of_gpu(0)
    }

    #[cfg(feature = "gpu")]
    fn first_fitting_gpu(image: &Image) -> Result<Self, Error> {
        let mut first_refusal = None;
        for index in 0..gpu::count()? {
            let opened = gpu::facts(index).and_then(|facts| {
                match crate::image::candidates(image, facts.compute_capability).is_empty() {
                    true => Err(facts.no_fitting_code(image)),
                    false => Self::of_gpu(index),
                }
            });
            match opened {
                Ok(gpu) => return Ok(gpu),
                Err(error) => first_refusal.get_or_insert(error),
            };
        }
        Err(first_refusal.unwrap_or(Error::NoSuchGpu { index: 0, count: 0 }))
    }

    fn new(driver: Arc<dyn Driver>, fallback: Option<Error>) -> Result<Self, Error> {
        let own = Lane::new(&driver, Want { isolated: true, ..Want::default() })?;
        Ok(Self(Arc::new(Inner {
            id: DeviceId::unique(),
            driver,
            fallback,
            own,
            reclaiming: OnceLock::new(),
            lanes: Mutex::default(),
            frees: Mutex::default(),
            leftovers: Leftovers::default(),
            staging: Staging::default(),
        })))
    }

    /// What the device is called.
    pub fn name(&self) -> &str {
        self.0.driver.name()
    }

    /// Its number among the driver's GPUs; `None` for an emulator.
    pub fn gpu_index(&self) -> Option<usize> {
        self.0.driver.as_gpu().map(|gpu| gpu.index)
    }

    /// Whether it is an emulator.
    pub fn is_emulator(&self) -> bool {
        self.0.driver.as_gpu().is_none()
    }

    /// A GPU's compute capability, major and minor.
    pub fn compute_capability(&self) -> Option<(u32, u32)> {
        self.0.driver.as_gpu().map(|gpu| gpu.compute_capability)
    }

    /// Why [`Device::auto`] took the emulator, if it did because no GPU would do.
    pub fn fallback(&self) -> Option<&Error> {
        self.0.fallback.as_ref()
    }

    /// Sets the seed of the next launch's schedule. On a GPU, which has no seeds, nothing happens.
    pub fn set_seed(&self, seed: u64) {
        self.0.driver.set_seed(seed);
    }

    /// How threads wait for this device from now on. On the emulator, which works while they wait, nothing changes.
    pub fn set_wait_policy(&self, policy: WaitPolicy) {
        self.0.driver.set_wait_policy(policy);
    }

    /// The id that this device's memory carries.
    pub fn id(&self) -> DeviceId {
        self.0.id
    }

    pub(crate) fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// The order of what the host does itself.
    pub(crate) fn own(&self) -> &Lane {
        &self.0.own
    }

    pub(crate) fn staging(&self) -> &Staging {
        &self.0.staging
    }

    /// A new order of work, which is known as long as somebody keeps it.
    pub(crate) fn lane(&self, want: Want) -> Result<Arc<Lane>, Error> {
        self.0.driver.alive("making a stream")?;
        Ok(self.lane_of(self.0.driver.queue(want)?))
    }

    /// The order of a queue, which is known as long as somebody keeps it.
    pub(crate) fn lane_of(&self, queue: Box<dyn Queue>) -> Arc<Lane> {
        let lane = Arc::new(Lane::of(&self.0.driver, queue, false));
        let mut lanes = self.lanes();
        lanes.retain(|_, lane| lane.strong_count() > 0);
        lanes.insert(lane.context(), Arc::downgrade(&lane));
        lane
    }

    /// Looks whether something can be given back.
    pub(crate) fn tidy(&self) {
        self.0.leftovers.look();
    }

    /// Keeps something until work has ended.
    pub(crate) fn keep(&self, leftover: Leftover, fences: Vec<StreamFence>) {
        self.0.leftovers.add(leftover, fences);
    }

    /// Gives memory back in the order of work, behind all that uses it: in the order that has used it if it is one, so
    /// that the same order can have it again at once; else in an order for that.
    ///
    /// `false` if it was not given back.
    pub(crate) fn free_in_order(
        &self,
        address: u64,
        reservation: &Reservation<StreamFence>,
        pending: &[StreamFence],
    ) -> bool {
        let of_one = pending.split_first().and_then(|(first, others)| {
            let context = first.context();
            others.iter().all(|fence| fence.context() == context).then_some(context)
        });
        let touched = [(reservation, Access::Move)];
        let free = |lane: &Lane| {
            let given = std::cell::Cell::new(false);
            let submitted = lane.submit(&touched, "free", |giver| {
                giver.give(|queue| queue.free(address))?;
                given.set(true);
                Ok(())
            });
            if let Ok((_, fence)) = &submitted {
                self.freed(fence);
            }
            given.get()
        };
        if of_one == Some(self.0.own.context()) || pending.is_empty() {
            return free(&self.0.own);
        }
        let lane = of_one.and_then(|context| self.lanes().get(&context)?.upgrade());
        // A stream that has failed takes no more work, and one that is captured would put it down.
        if let Some(lane) = lane
            && !lane.captures()
            && free(&lane)
        {
            return true;
        }
        self.reclaiming().is_ok_and(free)
    }

    fn reclaiming(&self) -> Result<&Lane, Error> {
        if let Some(lane) = self.0.reclaiming.get() {
            return Ok(lane);
        }
        let lane = Lane::new(&self.0.driver, Want { isolated: true, ..Want::default() })?;
        // Another thread's may be first; then this one has no work and is dropped.
        Ok(self.0.reclaiming.get_or_init(|| lane))
    }

    fn freed(&self, fence: &StreamFence) {
        let mut frees = self.0.frees.lock().unwrap_or_else(PoisonError::into_inner);
        frees.retain(|known| {
            known.context() != fence.context() && known.status() == Status::Pending
        });
        frees.push(fence.clone());
    }

    /// Tries to get memory; if there is none, waits for what is being given back and tries again, once.
    pub(crate) fn with_memory<T>(
        &self,
        allocate: impl Fn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.tidy();
        match allocate() {
            Err(Error::OutOfMemory { .. }) if !capturing::is_held_back() => {}
            done => return done,
        }
        let frees = {
            let frees = self.0.frees.lock().unwrap_or_else(PoisonError::into_inner);
            frees.clone()
        };
        for fence in frees {
            // Whether that succeeds shows in whether there is memory now.
            let _ = fence.wait(None);
        }
        self.0.leftovers.finish();
        allocate()
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<ContextId, std::sync::Weak<Lane>>> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.name()).finish()
    }
}
