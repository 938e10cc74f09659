//! The elected thread meets the warp that waits for it.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn meet<'k>(mut warp: MmaWarp<'k>) {
    warp.elect(|_| warp.barrier());
}

fn main() {}
