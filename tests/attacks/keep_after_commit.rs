//! Adds to an accumulator that was handed on.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn again<'k>(thread: &mut MmaThread<'k>, accumulators: &mut Accumulators<'k>, stages: &mut Stages4<'k>) {
    let acc = accumulators.acquire(thread).keep();
    let mut kept = acc;
    acc.commit(thread);
    let stage = stages.wait(thread);
    kept.mma(thread, stage).release_by_commit(thread);
}

fn main() {
    let _ = again;
}
