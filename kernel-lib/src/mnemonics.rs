//! Index: from PTX instructions to Rust names.
//!
#![doc = include_str!("mnemonics.md")]
