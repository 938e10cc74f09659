//! The elected lane shuffles with the lanes that wait for it.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn shuffle<'k>(warp: LoadWarp<'k>) {
    warp.elect(|mut t| {
        let _first = t.shfl(1u32, 0);
    });
}

fn main() {
    let _ = shuffle;
}
