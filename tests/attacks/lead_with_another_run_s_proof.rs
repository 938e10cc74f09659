//! Takes the proof that another run's CTA led its pair.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn lead<'k, 'other>(
    thread: &mut Issuer<'k>,
    leader: PairLeader<'other>,
    stages: &mut Operands<'k>,
) {
    stages.wait_for_both(thread, leader).release(thread);
}

fn main() {}
