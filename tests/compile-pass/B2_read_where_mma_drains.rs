//! A stage that goes back by a commit is read by the matrix instructions alone.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn step<'k>(t: &mut MmaThread<'k>, stages: &mut Stages4<'k>, acc: &mut Accumulators<'k>) {
    let mut acc = acc.acquire(t);
    let stage = stages.wait(t);
    let stage = acc.mma(t, stage);
    stage.release_by_commit(t);
    acc.commit(t);
}

fn main() {
    let _ = step;
}
