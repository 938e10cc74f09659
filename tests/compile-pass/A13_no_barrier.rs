//! The warp's barrier stands between the writes and the reads.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn produce<'k>(warp: &mut LoadWarp<'k>, writes: &mut Writes<'k>) -> u32 {
    let stage = writes.acquire(warp).fill(warp, |i| i).sync(warp);
    let next = stage.get(warp.rank() ^ 1);
    stage.publish(warp);
    next
}

fn main() {
    let _ = produce;
}
