//! Multiplies an operand of a ring for a pair of CTAs into an accumulator of one.

#[path = "../fixture/operands.rs"]
mod fixture;
use baton::pair::PairLeader;
use baton::stages::ByPairMma;
use fixture::*;

type Both = Stages<4, Tile<bf16, 64, 64>, ByBulk, ByPairMma>;

baton::shared! {
    pub struct Pairs in pairs { b: Both }
}

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    leader: PairLeader<'k>,
    left: &mut LeftEnd<'k>,
    right: &mut Consumer<'k, pairs::b, Both, Issuer<'k>, 4>,
    sums: &mut Sums<'k>,
) {
    let a = left.wait(thread).open(thread);
    let b = right.wait_for_both(thread, leader).open(thread);
    let mut acc = sums.acquire(thread);
    acc.mma_of(thread, a.operand(), b.operand());
    acc.commit(thread);
    b.release_by_commit(thread);
    a.release_by_commit(thread);
}

fn main() {
    let _ = multiply;
}
