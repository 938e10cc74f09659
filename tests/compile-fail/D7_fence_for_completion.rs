//! Takes the fence for what makes the instructions' result readable, back to back in one thread.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut MmaThread<'k>,
    accumulators: &mut Accumulators<'k>,
    stages: &mut Stages4<'k>,
) {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage).release_by_commit(thread);
    let _ready = acc.fence_after_thread_sync(thread);
}

fn main() {
    let _ = multiply;
}
