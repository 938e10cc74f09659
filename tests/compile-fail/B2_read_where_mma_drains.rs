//! Reads a stage that goes back by a commit: no proxy fence stands behind the load.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn step<'k>(t: &mut MmaThread<'k>, stages: &mut Stages4<'k>, acc: &mut Accumulators<'k>) -> f32 {
    let mut acc = acc.acquire(t);
    let stage = stages.wait(t);
    let stage = acc.mma(t, stage);
    let first = stage.get(0).to_f32();
    stage.release_by_commit(t);
    acc.commit(t);
    first
}

fn main() {
    let _ = step;
}
