//! Multiplies bf16 by f16.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

type Others = Stages<2, Tile<f16, 64, 64>, ByBulk, ByMma>;

baton::shared! { pub struct Right2 in others { b: Others } }

pub fn multiply<'k>(
    t: &mut Issuer<'k>,
    left: &mut LeftEnd<'k>,
    right: &mut Consumer<'k, others::b, Others, Issuer<'k>, 2>,
    sums: &mut Sums<'k>,
) {
    let a = left.wait(t).open(t);
    let b = right.wait(t).open(t);
    let mut acc = sums.acquire(t);
    acc.mma_of(t, a.operand(), b.operand());
    acc.commit(t);
    a.release_by_commit(t);
    b.release_by_commit(t);
}

fn main() {}
