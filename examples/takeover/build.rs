//! Compiles the kernel crate for the GPU; the program carries the result with it.

use baton_builder::{Arch, Builder};

fn main() -> Result<(), baton_builder::Error> {
    Builder::new("kernel").arch(Arch::Sm100a).build()?;
    Ok(())
}
