//! A narrow scope that is said to include a wide one.

use baton::scope::{Cta, Gpu, Includes};

impl Includes<Gpu> for Cta {}

fn main() {}
