//! Hands an accumulator back while its load is under way.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k>) {
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    let acc = acc.ld::<32>(wg, 0);
    acc.release(wg);
}

fn main() {
    let _ = drain;
}
