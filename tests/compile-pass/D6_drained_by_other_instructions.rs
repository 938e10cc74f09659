//! The ring is drained by a pair, too.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

type Both = Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 32, 64>), ByBulk, ByPairMma>;

baton::shared! {
    pub struct One in one { ab: Both, acc: PairAccs<2, 64> }
}

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    leader: PairLeader<'k>,
    accumulators: &mut PairProducer<'k, one::acc, Issuer<'k>, 2, 64>,
    stages: &mut Consumer<'k, one::ab, Both, Issuer<'k>, 2>,
) {
    let mut acc = accumulators.acquire(thread, leader);
    let stage = stages.wait_for_both(thread, leader);
    acc.mma(thread, stage).release_by_commit(thread);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
