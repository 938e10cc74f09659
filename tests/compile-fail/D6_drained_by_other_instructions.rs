//! Multiplies stages of a ring for single CTAs into an accumulator of a pair.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use baton::stages::ByMma;
use fixture::*;

type Single = Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 32, 64>), ByBulk, ByMma>;

baton::shared! {
    pub struct One in one { ab: Single, acc: PairAccs<2, 64> }
}

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    leader: PairLeader<'k>,
    accumulators: &mut PairProducer<'k, one::acc, Issuer<'k>, 2, 64>,
    stages: &mut Consumer<'k, one::ab, Single, Issuer<'k>, 2>,
) {
    let mut acc = accumulators.acquire(thread, leader);
    let stage = stages.wait(thread);
    acc.mma(thread, stage).release_by_commit(thread);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
