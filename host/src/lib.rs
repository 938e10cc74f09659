//! Devices, buffers and launches for baton kernels.
//!
//! A host program finds a [`Device`], loads an [`Image`] (what the builder made of a kernel crate),
//! puts data into [`Buffer`]s and launches typed calls. The device is a GPU where one is there and
//! the image has code for it, and the emulator everywhere else, and nothing but the report tells
//! them apart:
//!
//! ```no_run
//! # mod scale_kernel {
//! #     use baton::prelude::*;
//! #     #[baton::kernel(threads = 32)]
//! #     pub fn scale(cta: Cta<'_, NoShared, 32>, input: ReadOnly<f32>, output: GlobalPtr<f32>, factor: f32) -> Exit<'_> {
//! #         let mut mine = output.partition(&cta);
//! #         let index = mine.index(0);
//! #         if index < input.len() {
//! #             mine.put(0, factor * input.get(index));
//! #         }
//! #         let (cta, ()) = cta.claim();
//! #         cta.join().exit(())
//! #     }
//! # }
//! # // What the build script of a program would have made.
//! # mod program {
//! # use super::scale_kernel;
//! # mod baton_host {
//! #     pub use ::baton_host::*;
//! #     macro_rules! image {
//! #         ($name:literal) => { ::baton_host::Image { name: $name, binaries: &[] } };
//! #     }
//! #     pub(crate) use image;
//! # }
//! # pub fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use baton_host::{Buffer, Device};
//!
//! static KERNELS: baton_host::Image = baton_host::image!("scale_kernel");
//!
//! let device = Device::auto(&KERNELS)?;
//! let module = device.load(&KERNELS)?;
//! let input = Buffer::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0])?;
//! let mut output = Buffer::poisoned(&device, 4)?;
//!
//! // `scale_kernel::scale` is the kernel; on the host it takes its arguments and returns a call.
//! let call = scale_kernel::scale(input.as_arg(), output.as_arg_mut(), 2.0);
//! let report = device.launch(&module, 1, call)?;
//!
//! assert_eq!(output.to_vec()?, [2.0, 4.0, 6.0, 8.0]);
//! println!("{} in {:?}", device.name(), report.elapsed);
//! # Ok(())
//! # }
//! # }
//! # fn main() { program::main().unwrap() }
//! ```
//!
//! # What is checked, and when
//! The compiler checks arguments and block shape (see [`baton::launch`]). [`Device::launch`] checks
//! what only a running program knows: that the module has the kernel, that its parameters are the
//! ones that were compiled, that every buffer is this device's, and that grid, clusters and shared
//! memory fit. A launch waits for the kernel, so the borrows of a [`Call`](baton::launch::Call) cover
//! all of its accesses.
//!
//! # Work that is not waited for
//! A [`Stream`] takes launches and copies and returns at once. Each buffer has a reservation that
//! knows which stream reads or writes it, so everything that touches a buffer waits for what it must
//! and for nothing else; see [`reservation`] for the rules, and [`Stream`] for an example.
//!
//! # Choosing a device
//! `BATON_DEVICE` = `auto`, `gpu`, `gpu:N` or `emulator` overrides [`Device::auto`]. A machine
//! without a driver is an ordinary case: `auto` gives the emulator, and asking for a GPU is an
//! [`Error`] that says what is missing.

mod arguments;
mod buffer;
mod capture;
mod capturing;
mod check;
mod choice;
mod device;
mod driver;
mod error;
mod fence;
mod foreign;
mod future;
mod graph;
mod grid;
mod image;
mod lane;
mod launch;
mod leftover;
mod managed;
mod memory;
mod module;
mod operation;
mod options;
mod pinned;
mod report;
pub mod reservation;
mod staging;
mod stream;
mod sync;
mod sync_buffer;
mod tensor_map;
mod transfer;
mod view;
mod waits;

pub use arguments::{
    Argument, Arguments, KernelTaking, Read, Write, Zeroed, read, read_tiles, write, write_tiles,
    zeroed,
};
pub use baton_emulator;
pub use baton_emulator::tensor_map::{DataType, Interleave, L2Promotion, OobFill, Swizzle};
pub use buffer::{Buffer, POISON};
pub use capture::Capture;
pub use choice::Choice;
pub use device::{Device, DeviceInfo};
pub use driver::WaitPolicy;
pub use error::{BadLaunch, Error};
pub use fence::StreamFence;
pub use future::Finished;
pub use graph::{Graph, Updated};
pub use grid::{Grid, Occupancy};
pub use image::{Arch, Binary, Declared, Features, Image, KernelInfo};
pub use managed::Managed;
pub use module::{Code, Module};
pub use options::EmulatorOptions;
pub use pinned::Pinned;
pub use report::{Hazards, LaunchReport, StreamReport};
pub use stream::Stream;
pub use sync_buffer::SyncBuffer;
pub use tensor_map::{EncodedMap, Im2col, Matrix, StoredMap, Tiled, Tiles};
pub use view::{Readable, View, ViewMut, Writable};
