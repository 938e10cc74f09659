//! Rust kernel crate to checked PTX, and to machine code where ptxas is there.
//!
//! A build script calls it with the folder of the kernel crate:
//!
//! ```no_run
//! use baton_builder::{Arch, Builder, Error};
//!
//! fn main() -> Result<(), Error> {
//!     Builder::new("kernel").arch(Arch::Sm100a).build()?;
//!     Ok(())
//! }
//! ```
//!
//! and the program then says `baton_host::image!("…_kernel")`. The steps: find or fetch the sources
//! of `core` and ptxas ([`provision`]), compile with a nested cargo, finish the PTX (launch
//! attributes, language version, debug information into a side table), check what the compiler does
//! not know, assemble, and write the files described at [`Output`].
//!
//! # Environment variables
//!
//! | variable | effect |
//! |---|---|
//! | `BATON_ARCH` | targets to build for, with commas between; instead of those that the call names |
//! | `BATON_OFFLINE` | nothing is downloaded (`CARGO_NET_OFFLINE` does the same) |
//! | `BATON_PTXAS` | `off`: do without; `required`: an error if it is missing; `auto` is usual |
//! | `BATON_TOOLS_DIR` | where fetched tools are kept |
//! | `BATON_ANY_RUSTC` | another compiler than the pinned release is tried |
//! | `CUDA_HOME`, `CUDA_PATH` | a CUDA toolkit, looked at before `/usr/local/cuda` and `PATH` |
//! | `RUSTUP_AUTO_INSTALL` | `0`: rustup is not asked for the sources of `core` |

mod arch;
mod builder;
mod cargo;
mod check;
mod environment;
mod error;
mod image;
mod post;
pub mod provision;
mod ptxas;
#[cfg(test)]
mod testing;
mod toolchain;

pub use arch::{Arch, UnknownArch};
pub use builder::{Binary, Builder, Declared, Faults, Kernel, Output, Progress, Ptxas};
pub use cargo::compiler_errors;
pub use check::{Finding, Note, Severity, lint};
pub use environment::Environment;
pub use error::Error;
pub use ptxas::Usage;
pub use toolchain::Toolchain;
