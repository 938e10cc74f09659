//! A role returns an end of a ring.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn escape<'k>(cta: Cta<'k, baton::layout::Claimed<Smem>, 32>, reads: Reads<'k>) {
    let (_, (reads,)) = cta.roles((warp(move |_| reads),));
    let _ = reads;
}

fn main() {}
