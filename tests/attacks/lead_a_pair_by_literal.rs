//! Makes a proof that this CTA leads its pair.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn lead<'k>(thread: &mut Issuer<'k>, stages: &mut Operands<'k>) {
    let leader = PairLeader(core::marker::PhantomData);
    stages.wait_for_both(thread, leader).release(thread);
}

fn main() {}
