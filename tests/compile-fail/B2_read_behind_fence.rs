//! Reads a stage behind the fence that ordered its reads.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, arrivals: &mut Arrivals<'k>) -> bf16 {
    let stage = arrivals.wait(wg).fence_proxy_async(wg);
    let first = stage.get(0);
    stage.release(wg);
    first
}

fn main() {
    let _ = drain;
}
