//! Reads the stage that the consumer's wait hands out.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn first<'k>(
    thread: &mut LoadThread<'k>,
    landing: &mut Landing<'k>,
    a: A,
    wg: &mut Epilogue<'k>,
    arrivals: &mut Arrivals<'k>,
) -> bf16 {
    landing.acquire(thread).load(thread, a.at(0, 0));
    let stage = arrivals.wait(wg);
    let first = stage.get(0);
    stage.fence_proxy_async(wg).release(wg);
    first
}

fn main() {
    let _ = first;
}
