//! The elected thread returns its token to the warp.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn escape<'k>(warp: MmaWarp<'k>) {
    let _thread = warp.elect(|t| t);
}

fn main() {}
