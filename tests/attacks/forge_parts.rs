//! The parts of a layout, without a claim.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn forge<'k>() -> smem::Parts<'k> {
    <Smem as baton::layout::Layout>::parts(baton::layout::Base::from_raw(0), 0)
}

fn main() {}
