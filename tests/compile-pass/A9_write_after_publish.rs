//! Reads its stage back before it hands it on.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn produce<'k>(warp: &mut LoadWarp<'k>, writes: &mut Writes<'k>) -> u32 {
    let stage = writes.acquire(warp).fill(warp, |i| i).sync(warp);
    let first = stage.get(0);
    stage.publish(warp);
    first
}

fn main() {
    let _ = produce;
}
