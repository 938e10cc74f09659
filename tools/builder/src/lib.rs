//! Rust kernel crate to checked PTX.
