//! Multiplies every stage of the pair.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    accumulators: &mut Producer<'k>,
    stages: &mut Operands<'k>,
) {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage);
    let stage = stages.wait(thread);
    acc.mma(thread, stage);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
