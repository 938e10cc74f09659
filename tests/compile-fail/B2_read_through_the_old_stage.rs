//! Keeps a stage as it was before the fence that orders its reads before the next copy, and reads it.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn sum<'k>(warpgroup: &mut Epilogue<'k>, arrivals: &mut Arrivals<'k>) -> bf16 {
    let stage = arrivals.wait(warpgroup);
    let fenced = stage.fence_proxy_async(warpgroup);
    let first = stage.get(0);
    fenced.release(warpgroup);
    first
}

fn main() {
    let _ = sum;
}
