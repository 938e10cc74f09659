//! A group is made of the instructions, and waited for.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>) -> f32 {
    let sum = Sum::new(wg).fence(wg);
    let stage = stages.wait(wg);
    let (sum, stage) = sum.mma_async(wg, stage);
    let (sum, stage) = sum.commit_group(wg, stage).wait_group::<0, _>(wg);
    stage.release(wg);
    sum.values()[0]
}

fn main() {
    let _ = multiply;
}
