//! The fence stands between the wait and the load.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) -> f32 {
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    let (acc, row) = acc.ld::<32>(wg, 0).wait_ld(wg);
    acc.fence_before_thread_sync(wg).release(wg);
    row[0]
}

fn main() {
    let _ = drain;
}
