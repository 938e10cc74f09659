//! `wgmma.fence` stands between.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>) {
    let sum = Sum::new(wg).fence(wg);
    let stage = stages.wait(wg);
    let (sum, stage) = sum.mma_async(wg, stage);
    let (_, stage) = sum.commit_group(wg, stage).wait_group::<0, _>(wg);
    stage.release(wg);
}

fn main() {
    let _ = multiply;
}
