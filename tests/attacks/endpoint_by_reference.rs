//! A role holds an end by reference, and so does another.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn both<'k>(cta: Cta<'k, baton::layout::Claimed<Smem>, 192>, mut reads: Reads<'k>) {
    let shared = &mut reads;
    let _ = cta.roles((
        warpgroup(|_| ()),
        warp(|_| ()),
        warp(move |mut w| shared.wait(&mut w).release(&mut w)),
    ));
    drop(reads);
}

fn main() {}
