//! What a foreign crate can do with the device library's public surface, asked of rustdoc and rustc.

mod choice;
pub mod constructors;
pub mod copies;
pub mod foreign;
mod opaque;
pub mod reviewed;
mod spell;
pub mod surface;
