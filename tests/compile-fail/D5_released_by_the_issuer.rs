//! Hands an accumulator on as its readers do, where only a commit says when it is complete.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(thread: &mut Issuer<'k>, leader: PairLeader<'k>, accumulators: &mut Producer<'k>, stages: &mut Operands<'k>) {
    let mut acc = accumulators.acquire(thread, leader);
    let stage = stages.wait_for_both(thread, leader);
    acc.mma(thread, stage).release_by_commit(thread);
    acc.release(thread);
}

fn main() {
    let _ = multiply;
}
