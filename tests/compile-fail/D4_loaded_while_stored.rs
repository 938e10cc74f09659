//! Loads columns that a store to them has not reached.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn there_and_back<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) -> f32 {
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    let acc = acc.st(wg, 0, [1.0; 32]);
    let (acc, row) = acc.ld::<32>(wg, 0).wait_ld(wg);
    acc.fence_before_thread_sync(wg).release(wg);
    row[0]
}

fn main() {
    let _ = there_and_back;
}
