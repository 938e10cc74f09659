//! The proof that no accumulator is being read, while one can still be loaded.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, mut results: Results<'k>) -> f32 {
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    let _drained = results.finish(wg);
    let (acc, row) = acc.ld::<32>(wg, 0).wait_ld(wg);
    acc.fence_before_thread_sync(wg).release(wg);
    row[0]
}

fn main() {}
