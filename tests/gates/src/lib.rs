//! What a foreign crate can do with the device library's public surface, asked of rustdoc and rustc.

pub mod choice;
pub mod constructors;
pub mod copies;
pub mod foreign;
pub mod opaque;
pub mod reviewed;
pub mod spell;
pub mod surface;
