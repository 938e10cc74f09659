//! Makes a proof that this CTA leads its pair out of nothing, or takes that of another kernel.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn by_literal<'k>() -> PairLeader<'k> {
    PairLeader(core::marker::PhantomData)
}

fn by_default<'k>() -> PairLeader<'k> {
    Default::default()
}

fn of_another_run<'k, 'other>(
    thread: &mut Issuer<'k>,
    leader: PairLeader<'other>,
    stages: &mut Operands<'k>,
) {
    stages.wait_for_both(thread, leader).release(thread);
}

fn main() {}
