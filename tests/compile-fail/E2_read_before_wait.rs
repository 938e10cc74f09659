//! Reads the registers of instructions that are under way.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>) -> f32 {
    let sum = Sum::new(wg).fence(wg);
    let stage = stages.wait(wg);
    let (sum, stage) = sum.mma_async(wg, stage);
    let sum = sum.commit_group(wg, stage);
    let first = sum.values()[0];
    let (_, stage) = sum.wait_group::<0, _>(wg);
    stage.release(wg);
    first
}

fn main() {
    let _ = multiply;
}
