//! The CTA that does not lead a pair waits for its part of a stage, which completes on the barrier of the one that does.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn skip<'k>(thread: &mut Issuer<'k>, leader: Option<PairLeader<'k>>, stages: &mut Operands<'k>) {
    if leader.is_none() {
        stages.wait(thread).release(thread);
    }
}

fn main() {
    let _ = skip;
}
