//! A stage that one thread holds, read by the matrix instructions of another.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut MmaThread<'k>,
    other: &mut LoadThread<'k>,
    accumulators: &mut Accumulators<'k>,
    stages: &mut Stages4<'k>,
) {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(other, stage).release_by_commit(other);
    acc.commit(thread);
}

fn main() {}
