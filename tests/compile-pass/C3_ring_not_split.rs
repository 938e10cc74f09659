//! Waits on the end that drains the ring.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn read<'k>(warp: &mut MmaWarp<'k>, parts: smem::Parts<'k>) -> u32 {
    let (_, mut ring) = parts.words.split::<LoadWarp<'k>, _, 4>();
    let stage = ring.wait(warp);
    let value = stage.get(0);
    stage.release(warp);
    value
}

fn main() {
    let _ = read;
}
