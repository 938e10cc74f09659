//! The CTA that leads the pair waits for both parts of the stage, and hands both back.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn skip<'k>(thread: &mut Issuer<'k>, leader: Option<PairLeader<'k>>, stages: &mut Operands<'k>) {
    if let Some(leader) = leader {
        stages.wait_for_both(thread, leader).release(thread);
    }
}

fn main() {
    let _ = skip;
}
