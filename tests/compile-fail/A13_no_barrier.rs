//! Reads what another thread of the warp wrote, without their barrier.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn produce<'k>(warp: &mut LoadWarp<'k>, writes: &mut Writes<'k>) -> u32 {
    let stage = writes.acquire(warp).fill(warp, |i| i);
    let next = stage.get(warp.rank() ^ 1);
    stage.publish(warp);
    next
}

fn main() {
    let _ = produce;
}
