//! The fence stands behind the last read.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn sum<'k>(warpgroup: &mut Epilogue<'k>, arrivals: &mut Arrivals<'k>) -> bf16 {
    let stage = arrivals.wait(warpgroup);
    let first = stage.get(0);
    let fenced = stage.fence_proxy_async(warpgroup);
    fenced.release(warpgroup);
    first
}

fn main() {
    let _ = sum;
}
