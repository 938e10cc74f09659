//! Hands an accumulator on as its readers do, where only a commit says when it is complete.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(thread: &mut Issuer<'k>, accumulators: &mut Producer<'k>, stages: &mut Operands<'k>) {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage);
    acc.release(thread);
}

fn main() {
    let _ = multiply;
}
