//! Waits on a ring and not on its end.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn read<'k>(warp: &mut MmaWarp<'k>, parts: smem::Parts<'k>) -> u32 {
    let mut ring = parts.words;
    let stage = ring.wait(warp);
    let value = stage.get(0);
    stage.release(warp);
    value
}

fn main() {
    let _ = read;
}
