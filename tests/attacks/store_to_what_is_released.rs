//! Stores to an accumulator that is on its way to the producer.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn late<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) {
    let acc = results.wait(wg).fence_after_thread_sync(wg).fence_before_thread_sync(wg);
    let acc = acc.st(wg, 0, [0.0; 32]).wait_st(wg);
    acc.fence_before_thread_sync(wg).release(wg);
}

fn main() {
    let _ = late;
}
