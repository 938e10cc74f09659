//! Multiplies a stage of another ring than the peer's.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    accumulators: &mut Producer<'k>,
    others: &mut Others<'k>,
) {
    let mut acc = accumulators.acquire(thread);
    let stage = others.wait(thread);
    acc.mma(thread, stage);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
