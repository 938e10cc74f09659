//! Tokens, ends and proofs by default.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::token::Finished;

fn forge<'k>() -> (Thread<'k, Role<1>>, Loads<'k>, Finished<'k, smem::c>) {
    Default::default()
}

fn main() {}
