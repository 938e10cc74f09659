//! Kernels on a device, ready to be launched.

use std::fmt;
use std::sync::Arc;

use crate::capturing;
use crate::device::Device;
use crate::error::Error;
use crate::image::{Binary, Image, KernelInfo};
use crate::memory::{LoadedCode, Resource};

/// An [`Image`] loaded on a device: one of its binaries, chosen to fit.
///
/// Made by [`Device::load`]. Dropped while kernels of it run on a [`Stream`](crate::Stream), it is
/// unloaded when they have ended.
pub struct Module {
    pub(crate) image: Image,
    pub(crate) binary: &'static Binary,
    pub(crate) code: Arc<LoadedCode>,
}

impl Device {
    /// Loads the code of `image` that fits this device best.
    ///
    /// On a GPU that is machine code for it, else PTX that its driver can compile; on the emulator it
    /// is PTX, of the target that its options name.
    pub fn load(&self, image: &Image) -> Result<Module, Error> {
        capturing::forbid("loading kernels")?;
        self.tidy();
        let (binary, code) = self.driver().load(image)?;
        Ok(Module { image: *image, binary, code: Arc::new(LoadedCode::new(self, code)) })
    }
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
        match self.code.code() {
            code if code.is_emulated() => Code::EmulatedPtx,
            code if code.is_cubin() => Code::Cubin,
            _ => Code::DriverCompiled,
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
