//! Multiplies a tile by one of twice its K.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

/// Tiles of twice the depth.
type Deep = Stages<4, Tile<bf16, 64, 128>, ByBulk, ByMma>;

baton::shared! {
    pub struct Smem2 in deeper { deep: Deep }
}

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    left: &mut LeftEnd<'k>,
    deep: &mut Consumer<'k, deeper::deep, Deep, Issuer<'k>, 4>,
    sums: &mut Sums<'k>,
) {
    let a = left.wait(thread).open(thread);
    let b = deep.wait(thread).open(thread);
    let mut acc = sums.acquire(thread);
    acc.mma_of(thread, a.operand(), b.operand());
    acc.commit(thread);
    b.release_by_commit(thread);
    a.release_by_commit(thread);
}

fn main() {
    let _ = multiply;
}
