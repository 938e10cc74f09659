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
//! - [`mma`]: the multiplication; beside it the metadata of a sparse A, and columns of B that count as zero.
//! - [`copy`]: rows of shared memory into lanes, and lanes by one.

pub mod access;
pub mod copy;
pub mod descriptor;
pub mod element;
pub mod idesc;
pub mod mma;
mod sparse;
pub mod tensor_memory;
mod zeros;

#[cfg(test)]
mod tests;

pub use access::{Access, AccessError, Shape};
pub use copy::{Copy, CopyShape};
pub(crate) use descriptor::FromElement;
pub use descriptor::{DescriptorError, Major, OperandLayout, SharedDescriptor, SharedWindow};
pub use element::ElementType;
pub use idesc::{
    AccumulatorType, Form, InstructionDescriptor, InstructionDescriptorError, Kind, ScaleFormat,
};
pub use mma::{Blocks, Mma, MmaError, OperandA, Operands, Scales, lane_of_row};
pub(crate) use sparse::METADATA_COLUMNS;
pub use tensor_memory::{Allocation, TensorAddress, TensorMemory, TensorMemoryError};
pub use zeros::ZeroColumns;
