//! Loads an accumulator right behind the wait.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) -> f32 {
    let acc = results.wait(wg);
    let (acc, row) = acc.ld::<32>(wg, 0).wait_ld(wg);
    acc.fence_before_thread_sync(wg).release(wg);
    row[0]
}

fn main() {
    let _ = drain;
}
