//! Two roles hold one end of a ring.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn both<'k>(cta: Cta<'k, baton::layout::Claimed<Smem>, 192>, mut reads: Reads<'k>) {
    let _ = cta.roles((
        warpgroup(|_| ()),
        warp(move |_| drop(reads)),
        warp(move |mut w| reads.wait(&mut w).release(&mut w)),
    ));
}

fn main() {}
