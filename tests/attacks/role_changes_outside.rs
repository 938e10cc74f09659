//! A role leaves a proof in a variable of the kernel.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::token::{FillsOf, Finished};

fn leave<'k>(
    cta: Cta<'k, baton::layout::Claimed<Smem>, 64>,
    loads: Loads<'k, LoadWarp<'k>>,
) -> Option<Finished<'k, FillsOf<smem::ab>>> {
    let mut proof = None;
    let _ = cta.roles((warp(|_| ()), warp(|mut w| proof = Some(loads.finish(&mut w)))));
    proof
}

fn main() {}
