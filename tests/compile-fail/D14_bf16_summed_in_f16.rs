//! Sums products of bf16 in f16, for which there is no instruction.

#[path = "../fixture/hopper.rs"]
mod fixture;
use baton::float::f16x2;
use baton::path::WgmmaFenced;
use baton::wgmma::Product;
use fixture::*;

type Halves<'k> = Product<[f16x2; 32], Threads<'k>, WgmmaFenced>;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, sum: Halves<'k>) {
    let stage = stages.wait(wg);
    let (sum, stage) = sum.mma_async(wg, stage);
    let (_, stage) = sum.commit_group(wg, stage).wait_group::<0, _>(wg);
    stage.release(wg);
}

fn main() {
    let _ = multiply;
}
