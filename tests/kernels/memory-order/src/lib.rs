//! The corrected twins of the memory-order rules, as kernels that the memory model judges.
//!
//! Each is as small as a hand-over can be: one element, one round. What the model asks of all of them is
//! whether the reader can go on and still find the old value. They are written with the typestates; only
//! what those have no form for is written with instructions (`raw`).
#![cfg(target_arch = "nvptx64")]
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

mod cluster;
mod flags;
mod protocols;
mod raw;
mod rings;
mod staging;
mod tensor;
mod threads;

/// What is handed over; before that there is 0.
const NEW: u32 = 42;
