//! Reads what a pair multiplies, in the CTA that leads it and in the other.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn in_the_other<'k>(thread: &mut Issuer<'k>, stages: &mut Operands<'k>) -> bool {
    stages.try_wait(thread).completed().is_ok()
}

fn in_the_one_that_leads<'k>(
    thread: &mut Issuer<'k>,
    leader: PairLeader<'k>,
    stages: &mut Operands<'k>,
) -> bf16 {
    let stage = stages.wait_for_both(thread, leader);
    let first = stage.get(0);
    stage.release(thread);
    first
}

fn main() {}
