//! Waits for instructions that are in no group.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>) -> f32 {
    let sum = Sum::new(wg).fence(wg);
    let stage = stages.wait(wg);
    let (sum, _stage) = sum.mma_async(wg, stage);
    let (sum, _) = sum.wait_group::<0, _>(wg);
    sum.values()[0]
}

fn main() {
    let _ = multiply;
}
