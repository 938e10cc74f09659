//! Hands a stage back while matrix instructions read it.

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
    acc.mma(thread, stage).release(thread);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
