//! Index: from CUDA's names to Rust names.
//!
#![doc = include_str!("cuda_names.md")]
