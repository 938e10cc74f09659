//! Products of bf16 are summed in f32.

#[path = "../fixture/hopper.rs"]
mod fixture;
use baton::path::WgmmaFenced;
use baton::wgmma::Product;
use fixture::*;

type Singles<'k> = Product<[f32; 64], Threads<'k>, WgmmaFenced>;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, sum: Singles<'k>) {
    let stage = stages.wait(wg);
    let (sum, stage) = sum.mma_async(wg, stage);
    let (_, stage) = sum.commit_group(wg, stage).wait_group::<0, _>(wg);
    stage.release(wg);
}

fn main() {
    let _ = multiply;
}
