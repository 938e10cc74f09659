//! Products whose operands come from several stages, of several rings: for each target those that it has.
//!
//! Element `i` of a matrix is small, and its products are exact in f32.
#![no_std]

#[cfg(feature = "blackwell")]
pub mod blackwell;
#[cfg(feature = "hopper")]
pub mod hopper;
