//! The whole warp shuffles before it elects a lane.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn shuffle<'k>(mut warp: LoadWarp<'k>) {
    let _first = warp.shfl(1u32, 0);
    warp.elect(|_t| ());
}

fn main() {
    let _ = shuffle;
}
