//! A proof, from the function by which a role's proofs reach the other threads.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::token::{Finished, RoleReturn, StoresOf};

fn forge<'k>() -> Finished<'k, StoresOf<smem::c>> {
    RoleReturn::conjure()
}

fn main() {}
