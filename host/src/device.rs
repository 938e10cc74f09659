//! Finding a device.
//!
//! A [`Device`] is a GPU or an emulator. Both do the same few things (memory, loading, launching,
//! encoding tensor maps), and the rest of the crate does not ask which it is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::rc::{Rc, Weak};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use baton::launch::{Call, DeviceId};

use crate::Error;
use crate::emulator::{Emulator, EmulatorOptions};
use crate::gpu::{self, Gpu};
use crate::image::{self, Image};
use crate::launch::{self, Grid, LaunchReport, Occupancy};
use crate::memory::{Leftover, Leftovers, LoadedCode};
use crate::module::{Loaded, Module};
use crate::reservation::Reservation;
use crate::stream::queue::Queue;
use crate::stream::{Stream, StreamFence, capture};

/// The variable that overrides [`Choice::Auto`].
const OVERRIDE: &str = "BATON_DEVICE";

/// A GPU, or the emulator.
///
/// Clones are the same device. Buffers and modules keep theirs alive.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    id: DeviceId,
    backend: Backend,
    fallback: Option<Error>,
    leftovers: Leftovers,
    /// Whether a stream was ever made: without, there is nothing that a launch has to wait for.
    has_streams: AtomicBool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.leftovers.finish(&self.backend);
    }
}

pub(crate) enum Backend {
    Gpu(Gpu),
    Emulator(Emulator),
}

impl Backend {
    pub(crate) fn memory(&self) -> &dyn Memory {
        match self {
            Self::Gpu(gpu) => gpu,
            Self::Emulator(emulator) => emulator,
        }
    }
}

/// What buffers need of a device.
pub(crate) trait Memory {
    /// Memory aligned to at least [`ALIGNMENT`] bytes.
    fn alloc(&self, bytes: u64) -> Result<u64, Error>;
    /// Gives it back. Failing is not the dropper's fault, so nothing is said of it.
    fn free(&self, address: u64);
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Error>;
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error>;
    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), Error>;
}

/// What every allocation is aligned to: what a driver promises, and enough for a tensor.
pub(crate) const ALIGNMENT: u64 = 256;

/// Which device to open.
///
/// Reads from text as `auto`, `gpu`, `gpu:N` or `emulator`, so that it can be an option of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The first GPU that can run the image, else the emulator; `BATON_DEVICE` overrides.
    #[default]
    Auto,
    /// The GPU of that number.
    Gpu(usize),
    /// The emulator.
    Emulator,
}

impl Choice {
    /// What counts when the variable [`OVERRIDE`] has this value: a choice that was made outweighs it,
    /// and an empty value is none.
    fn overridden_by(self, variable: Option<&OsStr>) -> Result<Self, Error> {
        match variable {
            Some(given) if self == Self::Auto && !given.is_empty() => {
                given.to_string_lossy().parse()
            }
            _ => Ok(self),
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu(0)),
            "emulator" => Ok(Self::Emulator),
            _ => text
                .strip_prefix("gpu:")
                .and_then(|index| index.parse().ok())
                .map(Self::Gpu)
                .ok_or_else(|| Error::BadChoice { given: text.into() }),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Gpu(index) => write!(f, "gpu:{index}"),
            Self::Emulator => f.write_str("emulator"),
        }
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
            Choice::Gpu(index) => Self::gpu(index),
            Choice::Emulator => Ok(Self::emulator(options)),
            Choice::Auto => Ok(match Self::first_fitting_gpu(image) {
                Ok(gpu) => Self::new(Backend::Gpu(gpu), None),
                Err(reason) => Self::new(Backend::Emulator(Emulator::new(options)), Some(reason)),
            }),
        }
    }

    /// The GPU of that number, counted from 0 as the driver does.
    pub fn gpu(index: usize) -> Result<Self, Error> {
        Ok(Self::new(Backend::Gpu(Gpu::open(index)?), None))
    }

    /// A new emulator. Every one is a device of its own, with its own memory.
    pub fn emulator(options: EmulatorOptions) -> Self {
        Self::new(Backend::Emulator(Emulator::new(options)), None)
    }

    /// Every device that can be opened: the GPUs, then the emulator.
    ///
    /// A GPU that cannot be opened is left out; [`Device::gpu`] says what is wrong with it.
    pub fn list() -> Vec<DeviceInfo> {
        let gpus = (0..gpu::count().unwrap_or(0)).filter_map(|index| {
            let gpu = Gpu::open(index).ok()?;
            Some(DeviceInfo {
                choice: Choice::Gpu(index),
                name: gpu.name().into(),
                compute_capability: Some(gpu.compute_capability()),
                memory: gpu.memory_bytes(),
            })
        });
        let emulator = DeviceInfo {
            choice: Choice::Emulator,
            name: Emulator::NAME.into(),
            compute_capability: None,
            memory: None,
        };
        gpus.chain([emulator]).collect()
    }

    fn first_fitting_gpu(image: &Image) -> Result<Gpu, Error> {
        let mut first_refusal = None;
        for index in 0..gpu::count()? {
            let refusal = match Gpu::open(index) {
                Ok(gpu) if !image::candidates(image, gpu.compute_capability()).is_empty() => {
                    return Ok(gpu);
                }
                Ok(gpu) => gpu.no_fitting_code(image),
                Err(error) => error,
            };
            first_refusal.get_or_insert(refusal);
        }
        Err(first_refusal.unwrap_or(Error::NoSuchGpu { index: 0, count: 0 }))
    }

    fn new(backend: Backend, fallback: Option<Error>) -> Self {
        Self(Arc::new(Inner {
            id: DeviceId::unique(),
            backend,
            fallback,
            leftovers: Leftovers::default(),
            has_streams: AtomicBool::new(false),
        }))
    }

    /// Loads the code of `image` that fits this device best.
    ///
    /// On a GPU that is machine code for it, else PTX that its driver can compile; on the emulator it
    /// is PTX, of the target that its options name.
    pub fn load(&self, image: &Image) -> Result<Module, Error> {
        let (binary, loaded) = match self.backend() {
            Backend::Gpu(gpu) => {
                gpu.load(image).map(|(binary, module)| (binary, Loaded::Gpu(module)))?
            }
            Backend::Emulator(emulator) => {
                emulator.load(image).map(|(binary, module)| (binary, Loaded::Emulator(module)))?
            }
        };
        Ok(Module { image: *image, binary, code: Arc::new(LoadedCode::new(self, loaded)) })
    }

    /// Launches a kernel on `grid` CTAs and waits until it has finished.
    ///
    /// Before it begins, everything has ended that the device's [`Stream`]s were given so far. To run
    /// beside that, launch on a [`Stream`].
    ///
    /// A kernel that waits for what never comes is an error on the emulator, which sees that nothing can
    /// move any more; one that works for ever is one too where the emulator's options have a
    /// `step_limit`. On a GPU nobody sees either, and this does not return.
    ///
    /// What the kernel prints goes to standard output. An error that begins with "was not launched"
    /// left the device as it was.
    pub fn launch(
        &self,
        module: &Module,
        grid: impl Into<Grid>,
        call: Call<'_>,
    ) -> Result<LaunchReport, Error> {
        let grid = grid.into();
        launch::check(self, module, grid, &call)
            .map_err(|problem| Error::BadLaunch { kernel: call.kernel(), problem })?;
        capture::no_host_wait("launching a kernel and waiting for it")?;
        let after_streams = self.0.has_streams.load(Ordering::Relaxed);
        match (self.backend(), &**module.code.loaded()) {
            (Backend::Gpu(gpu), Loaded::Gpu(loaded)) => {
                if after_streams {
                    gpu.finish()?;
                }
                gpu.launch(loaded, grid, &call)
            }
            (Backend::Emulator(emulator), Loaded::Emulator(loaded)) => {
                emulator.finish();
                emulator.launch(loaded, grid, &call)
            }
            // `check` has compared the devices, so the kinds agree.
            _ => Err(Error::foreign_module(&call)),
        }
    }

    /// How many CTAs and clusters of this call's kernel run at the same time.
    pub fn occupancy(&self, module: &Module, call: &Call<'_>) -> Result<Occupancy, Error> {
        launch::compiled(self, module, call)
            .map_err(|problem| Error::BadLaunch { kernel: call.kernel(), problem })?;
        match (self.backend(), &**module.code.loaded()) {
            (Backend::Gpu(gpu), Loaded::Gpu(loaded)) => gpu.occupancy(loaded, call),
            (Backend::Emulator(_), Loaded::Emulator(_)) => Ok(Emulator::occupancy(call.shape())),
            _ => Err(Error::foreign_module(call)),
        }
    }

    /// A new stream: work that is given to it is done in order, and beside that of other streams.
    pub fn stream(&self) -> Result<Stream, Error> {
        let queue: Box<dyn Queue> = match self.backend() {
            Backend::Gpu(gpu) => Box::new(gpu.stream()?),
            Backend::Emulator(emulator) => Box::new(emulator.stream()),
        };
        self.0.has_streams.store(true, Ordering::Relaxed);
        Ok(Stream::new(self, queue))
    }

    /// This thread's own stream of the device: the same one each time, as long as somebody keeps it.
    ///
    /// Streams of two threads are two streams, so what they do to the same buffer is ordered as for any
    /// others.
    pub fn thread_stream(&self) -> Result<Rc<Stream>, Error> {
        thread_local! {
            static STREAMS: RefCell<HashMap<DeviceId, Weak<Stream>>> = RefCell::default();
        }
        STREAMS.with_borrow_mut(|streams| {
            streams.retain(|_, stream| stream.strong_count() > 0);
            if let Some(stream) = streams.get(&self.id()).and_then(Weak::upgrade) {
                return Ok(stream);
            }
            let stream = Rc::new(self.stream()?);
            streams.insert(self.id(), Rc::downgrade(&stream));
            Ok(stream)
        })
    }

    /// What the device is called.
    pub fn name(&self) -> &str {
        match self.backend() {
            Backend::Gpu(gpu) => gpu.name(),
            Backend::Emulator(_) => Emulator::NAME,
        }
    }

    /// Its number among the driver's GPUs; `None` for an emulator.
    pub fn gpu_index(&self) -> Option<usize> {
        match self.backend() {
            Backend::Gpu(gpu) => Some(gpu.index()),
            Backend::Emulator(_) => None,
        }
    }

    /// Whether it is an emulator.
    pub fn is_emulator(&self) -> bool {
        matches!(self.backend(), Backend::Emulator(_))
    }

    /// A GPU's compute capability, major and minor.
    pub fn compute_capability(&self) -> Option<(u32, u32)> {
        match self.backend() {
            Backend::Gpu(gpu) => Some(gpu.compute_capability()),
            Backend::Emulator(_) => None,
        }
    }

    /// Why [`Device::auto`] took the emulator, if it did because no GPU would do.
    pub fn fallback(&self) -> Option<&Error> {
        self.0.fallback.as_ref()
    }

    /// Sets the seed of the next launch's schedule. On a GPU, which has no seeds, nothing happens.
    pub fn set_seed(&self, seed: u64) {
        if let Backend::Emulator(emulator) = self.backend() {
            emulator.set_seed(seed);
        }
    }

    /// The id that this device's memory carries.
    pub fn id(&self) -> DeviceId {
        self.0.id
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }

    pub(crate) fn memory(&self) -> &dyn Memory {
        self.backend().memory()
    }

    pub(crate) fn leftovers(&self) -> &Leftovers {
        &self.0.leftovers
    }

    /// Gives back what nobody owns any more, when no work uses it.
    pub(crate) fn discard(&self, leftover: Leftover, reservation: &Reservation<StreamFence>) {
        self.leftovers().add(leftover, reservation, self.backend());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_reads_what_it_prints() {
        for choice in [Choice::Auto, Choice::Gpu(0), Choice::Gpu(7), Choice::Emulator] {
            assert_eq!(choice.to_string().parse::<Choice>().ok(), Some(choice));
        }
        assert_eq!("gpu".parse::<Choice>().ok(), Some(Choice::Gpu(0)));
        for bad in ["", "GPU", "gpu:", "gpu:-1", "gpu:1x", "cpu"] {
            let error = bad.parse::<Choice>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{bad}` is no device")), "{error}");
        }
    }

    #[test]
    fn the_variable_overrides_auto_only() {
        let over = |choice: Choice, variable: Option<&str>| {
            choice.overridden_by(variable.map(OsStr::new)).ok()
        };
        assert_eq!(over(Choice::Auto, None), Some(Choice::Auto));
        assert_eq!(over(Choice::Auto, Some("")), Some(Choice::Auto));
        assert_eq!(over(Choice::Auto, Some("emulator")), Some(Choice::Emulator));
        assert_eq!(over(Choice::Auto, Some("gpu:2")), Some(Choice::Gpu(2)));
        assert_eq!(over(Choice::Auto, Some("none")), None);
        assert_eq!(over(Choice::Gpu(1), Some("emulator")), Some(Choice::Gpu(1)));
    }
}
