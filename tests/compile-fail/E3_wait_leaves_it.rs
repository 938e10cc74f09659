//! Releases the newest stage behind a wait that lets its group be under way.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, sum: Sum<'k, WgmmaFenced>) {
    let stage = stages.wait(wg);
    let (sum, stage) = sum.mma_async(wg, stage);
    let (_, stage) = sum.commit_group(wg, stage).wait_group::<1, _>(wg);
    stage.release(wg);
}

fn main() {
    let _ = multiply;
}
