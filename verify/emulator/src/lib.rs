//! Runs PTX on the CPU.
//!
//! [`Program::load`] decodes a module, a [`Machine`] holds device memory and runs kernels of it.
//! Values are those that PTX defines. Everything that a GPU may do in more than one order is
//! decided by a seed: which warp runs, which side of a branch comes first, and when an
//! asynchronous operation (a bulk copy, a multiplication of the tensor core) reads its sources
//! and writes its results between its issue and its completion. The same seed replays the same
//! run; nothing depends on time.
//!
//! What ends a run with an [`Error`] that names the PTX line and the Rust lines: accesses out of
//! bounds or misaligned, misuse of mbarriers, of tensor memory and of collectives, deadlock (with
//! every waiter and what it misses), traps and failed assertions, instructions that are not
//! known.
//!
//! Unless [`Options::unchecked`] is set, a run also collects [`Hazard`]s: accesses that the
//! memory model does not order, even if they happened to come in the right order, each with its
//! rule, both instructions, the synchronisation that almost sufficed, and what to do.
//!
//! Not executed: textures, sparse products of a warp or a warpgroup, single-bit ones of a warpgroup,
//! interleaved tensors.

mod access;
mod alu;
mod async_ops;
mod collective;
mod decode;
mod detect;
mod error;
mod exec;
pub mod explore;
mod flow;
mod fragment;
mod ir;
mod launch;
mod matrix;
mod mbarrier;
mod memory;
mod order;
mod print;
mod program;
mod remote;
mod rng;
mod schedule;
pub mod tcgen05;
mod tensor;
pub mod tensor_map;
pub mod trace;
mod undefined;
mod value;
mod warp;
mod wgmma;
mod wmma;
mod world;

pub use detect::{Hazard, Severity};
pub use error::{Deadlock, Error, Failure, Fault, Site, Threads, Waiter};
pub use launch::{After, Launch, Machine, Options, RESIDENT, Report, Schedule};
pub use mbarrier::MbarrierError;
pub use program::Program;
pub use rng::Decision;
