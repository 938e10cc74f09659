//! Takes the fence behind a store for the wait.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn rescale<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) {
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    let (acc, row) = acc.ld::<32>(wg, 0).wait_ld(wg);
    let acc = acc.st(wg, 0, row.map(|v| v / 2.0));
    let acc = acc.fence_after_thread_sync(wg);
    acc.fence_before_thread_sync(wg).release(wg);
}

fn main() {
    let _ = rescale;
}
