//! Commits the accumulator.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(thread: &mut Issuer<'k>, leader: PairLeader<'k>, accumulators: &mut Producer<'k>, stages: &mut Operands<'k>) {
    let mut acc = accumulators.acquire(thread, leader);
    let stage = stages.wait_for_both(thread, leader);
    acc.mma(thread, stage).release_by_commit(thread);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
