//! The CUDA runtime's entry points, over the emulator.
//!
//! A program that nvcc compiled with `-cudart shared` calls a library for all that concerns the device. `baton cuda` lets
//! it find this one: kernels run on an emulated device inside the process, with detection, and what is found goes into the
//! journal that the command reads.
//!
//! * [`fatbin`] takes the PTX out of what nvcc has put into the program;
//! * [`device`] is the state behind all calls: memory, modules, streams, events, the last error. It knows no C;
//! * [`abi`] has the entry points, one module for each chapter of the runtime's manual;
//! * [`host`] is memory that host and device share.
//!
//! Everything happens when it is called: a launch has ended when the call returns, so that streams are in order and an
//! event is complete as soon as it is recorded. What is not here is one error by name (`abi::missing`).

pub mod abi;
pub mod code;
pub mod device;
pub mod fatbin;
pub mod host;
