//! The ring is drained by a pair, too.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

type Both = Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 32, 64>), ByBulk, ByPairMma>;

baton::shared! {
    pub struct One in one { ab: Both, acc: PairAccs<2, 64, 2> }
}

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    accumulators: &mut PairProducer<'k, one::acc, Issuer<'k>, one::ab, 2, 64, 2>,
    stages: &mut Consumer<'k, one::ab, Both, Issuer<'k>, 2>,
) {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage);
    acc.commit(thread);
}

fn main() {
    let _ = multiply;
}
