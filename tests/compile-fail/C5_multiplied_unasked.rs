//! Multiplies what the answer of a `try_wait` stands for.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(thread: &mut MmaThread<'k>, accumulators: &mut Accumulators<'k>, stages: &mut Stages4<'k>) {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.try_wait(thread);
    acc.mma(thread, stage).release_by_commit(thread);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
