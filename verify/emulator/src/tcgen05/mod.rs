//! The fifth-generation tensor core: tensor memory, its descriptors, and the arithmetic of
//! `tcgen05.mma` (PTX ISA, section "TensorCore 5th Generation Family Instructions").
//!
//! Everything here is a plain function of its inputs. When an operation happens, and what is
//! ordered before it, is for the scheduler.
//!
//! - [`tensor_memory`]: the 128 lanes by 512 columns, and who has allocated which columns.
//! - [`access`]: which cells a lane of a warp touches in `tcgen05.ld` and `tcgen05.st`.
//! - [`descriptor`]: matrices in shared memory.
//! - [`idesc`]: types and shape of a multiplication.
//! - [`element`]: numbers of 8 to 32 bits.
//! - [`mma`]: the multiplication.
//!
//! Covered: one CTA (`.cta_group::1`), dense, shared- or tensor-memory A, kinds `f16`, `tf32`,
//! `f8f6f4` (8-bit types) and `i8`. Not covered: pairs of CTAs, sparse, block-scaled and
//! weight-stationary forms, `tcgen05.cp`, `tcgen05.shift`.

pub mod access;
pub mod descriptor;
pub mod element;
pub mod idesc;
pub mod mma;
pub mod tensor_memory;

#[cfg(test)]
mod tests;

pub use access::{Access, AccessError, Shape};
pub(crate) use descriptor::FromElement;
pub use descriptor::{DescriptorError, Major, OperandLayout, SharedDescriptor, SharedWindow};
pub use element::ElementType;
pub use idesc::{AccumulatorType, InstructionDescriptor, InstructionDescriptorError, Kind};
pub use mma::{Mma, MmaError, OperandA, Operands, lane_of_row};
pub use tensor_memory::{Allocation, TensorAddress, TensorMemory, TensorMemoryError};
