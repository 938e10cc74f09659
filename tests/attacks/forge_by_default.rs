//! Tokens, ends and proofs by default.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::token::{Finished, StoresOf};

fn forge<'k>() -> (Thread<'k, Role<1>>, Loads<'k>, Finished<'k, StoresOf<smem::c>>) {
    Default::default()
}

fn main() {}
