//! Calls every function of `baton::ptx` with every choice of its qualifiers.
//!
//! Nothing runs these kernels: `tests/tests/layer0` reads the PTX, compares what each call became
//! with the table in `kernel-lib/src/ptx/forms.md`, and gives it to ptxas.
#![cfg(target_arch = "nvptx64")]
#![no_std]
#![feature(asm_experimental_arch, abi_ptx)]
#![allow(unused_imports, clippy::missing_safety_doc)]

#[macro_use]
mod form;
mod barriers;
mod bulk;
mod matrix;
mod memory;
mod tensor_memory;
mod threads;
