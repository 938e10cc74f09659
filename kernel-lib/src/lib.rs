//! NVIDIA GPU kernels in Rust whose synchronisation the compiler checks.
//!
//! A barrier in a GPU kernel is a baton: it hands a piece of memory from the threads that filled it to the
//! threads that read it. In CUDA that hand-over is a comment; here it is a type. You cannot touch what you
//! were not handed, and you cannot hand on what you have not fenced.
//!
//! # Three ideas
//! 1. **Tokens** ([`token`]) stand for sets of threads. Every thread of the set holds one copy; every
//!    operation takes `&mut` of the token of the set that acts, so a collective can only be called where the
//!    whole set is.
//! 2. **Typed hand-overs** ([`stages`], [`accumulator`], [`staging`], [`exchange`], [`protocol`]): each piece of
//!    memory is a value whose type says who touched it last and how. Handing it on consumes it.
//! 3. **Access paths** ([`path`]): ordinary accesses, the async proxy, tensor memory. What must stand between
//!    two accesses of different paths is one table, and a missing step is a type error that names it.
//!
//! # A kernel
//! Two warps and a ring of three stages: one warp fills, the other drains.
//!
//! ```
//! use baton::prelude::*;
//!
//! baton::shared! {
//!     /// What the CTA keeps in shared memory.
//!     pub struct Smem in smem { ring: Stages<3, Linear<u32, 128>, ByThreads, ByThreads> }
//! }
//!
//! #[baton::kernel(threads = 64)]
//! pub fn ring(cta: Cta<'_, Smem, 64>, rounds: u32) -> Exit<'_> {
//!     let (cta, smem::Parts { ring, .. }) = cta.claim();
//!     let (mut filling, mut draining) = ring.split();
//!     let (joined, _) = cta.roles((
//!         warp(move |mut w| {
//!             for round in 0..rounds {
//!                 filling.acquire(&mut w).fill(&mut w, |i| round * 128 + i).publish(&mut w);
//!             }
//!         }),
//!         warp(move |mut w| {
//!             for _ in 0..rounds {
//!                 let stage = draining.wait(&mut w);
//!                 baton::assert!(stage.get(0) % 128 == 0);
//!                 stage.release(&mut w);
//!             }
//!         }),
//!     ));
//!     joined.exit(())
//! }
//!
//! # #[cfg(not(target_arch = "nvptx64"))]
//! fn main() {
//!     // On the host, the kernel's name is a function that takes its arguments and returns a call to launch.
//!     let call = ring(7);
//!     assert_eq!(call.shape().threads, [64, 1, 1]);
//! }
//! ```
//!
//! # Where to look
//! - [`path`]: what must stand between two accesses, the table of crossings, and which states of a region allow what.
//! - [`mnemonics`]: from a PTX instruction to what issues it; [`cuda_names`]: from a name of CUDA C++ to ours.
//! - [`math`]: functions of floats, and the hardware's approximations of them.
//! - [`same`]: what decides about a collective is one value for its set, which the builder checks; how to say what it cannot see.
//! - [`protocol`]: ready hand-overs between CTAs; [`cluster`], [`relay`]: those of a cluster; [`takeover`]: who does which tile.
//!
//! # Layers
//! [`ptx`] has one function for each instruction form and is `unsafe`; everything else is built on it and is
//! safe, except the claim of raw memory at the top of a kernel.
//!
//! # On the host
//! The crate compiles for the host too: instruction bodies are unreachable there, so that documentation,
//! tests and an IDE work with plain cargo, and `#[baton::kernel]` gives the host a typed launch.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, allow_internal_unstable))]
#![cfg_attr(
    all(target_arch = "nvptx64", not(feature = "rust-cuda")),
    feature(link_llvm_intrinsics, abi_ptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

/// Writes a loop over constants out, so that arrays stay in registers.
///
/// ```
/// use baton::prelude::*;
///
/// const CHUNK: usize = 8;
/// let values = [1.0f32; CHUNK];
/// let mut sum = 0.0;
/// baton::unroll! {
///     for i in 0..CHUNK {
///         sum = Math::mul_add(values[i], values[i], sum);
///     }
/// }
/// assert_eq!(sum, 8.0);
/// ```
pub use baton_macros::unroll;
pub use baton_macros::{kernel, shared};
pub use print::{assert, print, println};

pub mod accumulator;
pub mod alias;
pub mod atomic;
pub mod cache;
pub mod cluster;
pub mod collective;
pub mod cuda_names;
mod cursor;
mod dropped;
pub mod edited_map;
mod entry;
pub mod exchange;
pub mod float;
pub mod global;
pub mod held;
pub mod index;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
pub mod layout;
pub mod math;
pub mod mnemonics;
pub mod multicast;
pub mod operand;
pub mod pair;
pub mod pair_accumulator;
pub mod path;
mod peers;
pub mod previous;
pub mod print;
pub mod protocol;
pub mod ptx;
pub mod raster;
pub mod relay;
pub mod rounding;
pub mod same;
pub mod scope;
pub mod sem;
mod shared_access;
mod signature;
pub mod stages;
pub mod staging;
pub mod takeover;
pub mod tensor_stages;
pub mod tile;
pub mod token;
mod unrolled;
pub mod wgmma;

#[doc(hidden)]
pub mod macro_support {
    //! What the macros of this crate expand to; no part of the interface.
    pub use crate::entry::*;
}

/// Fails the compilation with `message` unless `condition` holds; called in constants only.
#[track_caller]
pub(crate) const fn require(condition: bool, message: &str) {
    if !condition {
        panic!("{}", message)
    }
}

/// What kernels usually import.
pub mod prelude {
    pub use crate::accumulator::Accs;
    pub use crate::collective::{Collectives, WholeWarps};
    pub use crate::exchange::Exchange;
    pub use crate::float::{bf16, f16};
    pub use crate::global::{GlobalPtr, ReadOnly, TensorMap};
    pub use crate::layout::NoShared;
    pub use crate::math::{Approx, Math};
    pub use crate::same::same;
    pub use crate::scope::{Cluster, Gpu, Sys};
    pub use crate::stages::{ByBulk, ByMma, ByThreads, ByWgmma, Stages};
    pub use crate::staging::Staging;
    pub use crate::tile::{Linear, Tile, ToAll};
    pub use crate::token::{Cta, Exit, Set, Thread, Warp, Warpgroup, warp, warpgroup};
}
