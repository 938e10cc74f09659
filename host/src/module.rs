//! Kernels on a device, ready to be launched.

use std::fmt;
use std::sync::Arc;

use crate::device::Device;
use crate::image::{Binary, Image, KernelInfo};
use crate::memory::{LoadedCode, Resource};
use crate::{emulator, gpu};

/// An [`Image`] loaded on a device: one of its binaries, chosen to fit.
///
/// Made by [`Device::load`]. Dropped while kernels of it run on a [`Stream`](crate::Stream), it is
/// unloaded when they have ended.
pub struct Module {
    pub(crate) image: Image,
    pub(crate) binary: &'static Binary,
    pub(crate) code: Arc<LoadedCode>,
}

/// What a backend keeps of a module.
pub(crate) enum Loaded {
    Gpu(gpu::LoadedModule),
    Emulator(emulator::LoadedModule),
}

/// What runs when a kernel of a module is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Machine code that ptxas made when the image was built.
    Cubin,
    /// Machine code that the driver made from the PTX when the module was loaded.
    DriverCompiled,
    /// The PTX itself, on the emulator.
    EmulatedPtx,
}

impl Module {
    /// The name of the image.
    pub fn name(&self) -> &'static str {
        self.image.name
    }

    /// The target of the binary that was chosen: `"sm_100a"`.
    pub fn arch(&self) -> &'static str {
        self.binary.arch
    }

    /// What runs.
    pub fn code(&self) -> Code {
        match &**self.code.loaded() {
            Loaded::Gpu(module) if module.is_cubin() => Code::Cubin,
            Loaded::Gpu(_) => Code::DriverCompiled,
            Loaded::Emulator(_) => Code::EmulatedPtx,
        }
    }

    /// What the build knows of the kernel of this name: registers, spills, shared memory.
    pub fn kernel(&self, name: &str) -> Option<&'static KernelInfo> {
        self.binary.kernel(name)
    }

    /// The device it is loaded on.
    pub fn device(&self) -> &Device {
        self.code.device()
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("image", &self.image.name)
            .field("arch", &self.binary.arch)
            .field("code", &self.code())
            .field("device", self.device())
            .finish()
    }
}
