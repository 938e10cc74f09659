//! Reads its stage back after it was handed to the consumer.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn produce<'k>(warp: &mut LoadWarp<'k>, writes: &mut Writes<'k>) -> u32 {
    let stage = writes.acquire(warp).fill(warp, |i| i).sync(warp);
    stage.publish(warp);
    stage.get(0)
}

fn main() {
    let _ = produce;
}
