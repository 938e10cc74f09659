//! The proof that no matrix instruction is under way, while one can still be issued.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut MmaThread<'k>,
    mut accumulators: Accumulators<'k>,
    stages: &mut Stages4<'k>,
) {
    let mut acc = accumulators.acquire(thread);
    let _issued = accumulators.finish(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage).release_by_commit(thread);
    acc.commit(thread);
}

fn main() {}
