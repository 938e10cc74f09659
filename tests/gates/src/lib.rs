//! What a foreign crate can do with the device library's public surface, asked of rustdoc and rustc.

pub mod choice;
pub mod constructors;
pub mod foreign;
pub mod opaque;
pub mod spell;
pub mod surface;
