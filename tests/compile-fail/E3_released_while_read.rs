//! Hands a stage back while the instructions read it.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, sum: Sum<'k, WgmmaFenced>) {
    let stage = stages.wait(wg);
    let (_, stage) = sum.mma_async(wg, stage);
    stage.release(wg);
}

fn main() {
    let _ = multiply;
}
