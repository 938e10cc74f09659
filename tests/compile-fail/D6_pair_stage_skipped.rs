//! Hands a stage back that the pair does not multiply.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    accumulators: &mut Producer<'k>,
    stages: &mut Operands<'k>,
) {
    let stage = stages.wait(thread);
    stage.fence_proxy_async(thread).release(thread);
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
