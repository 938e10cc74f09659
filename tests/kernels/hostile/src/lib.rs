//! Kernels in surroundings in which a macro that trusts names would go wrong: every name that it writes means something
//! else here, and every type that its author writes means something else in a module nearby.
//!
//! Each kernel writes numbers of its own, and each is launched: what the host passes, what the metadata says and what the
//! kernel reads have to be of the same types; where they cannot be, the launch refuses.
#![no_std]
#![forbid(unsafe_code)]

pub mod asks_its_target;
pub mod functions;
pub mod generic;
pub mod made;
pub mod names;
pub mod nested;
pub mod parameters;
