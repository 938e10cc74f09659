//! Waits for the load first, which gives the values too.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) {
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    let (acc, _row) = acc.ld::<32>(wg, 0).wait_ld(wg);
    acc.fence_before_thread_sync(wg).release(wg);
}

fn main() {
    let _ = drain;
}
