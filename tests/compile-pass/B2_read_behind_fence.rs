//! Reads the stage before the fence.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, arrivals: &mut Arrivals<'k>) -> bf16 {
    let stage = arrivals.wait(wg);
    let first = stage.get(0);
    stage.fence_proxy_async(wg).release(wg);
    first
}

fn main() {
    let _ = drain;
}
