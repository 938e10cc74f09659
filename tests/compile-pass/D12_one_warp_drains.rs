//! A warpgroup drains it, each warp its own lanes.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) {
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    acc.fence_before_thread_sync(wg).release(wg);
}

fn main() {
    let _ = drain;
}
