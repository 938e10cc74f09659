//! The proof that a field is no longer used, made by the function that makes it.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::token::{Finished, StoresOf};

fn forge<'k>() -> Finished<'k, StoresOf<smem::c>> {
    Finished::assume()
}

fn main() {}
