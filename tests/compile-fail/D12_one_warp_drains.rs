//! One warp drains an accumulator of 128 lanes.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(warp: &mut LoadWarp<'k>, results: &mut Results<'k, LoadWarp<'k>>) {
    let acc = results.wait(warp).fence_after_thread_sync(warp);
    acc.fence_before_thread_sync(warp).release(warp);
}

fn main() {
    let _ = drain;
}
