//! Issues, in one thread, what reads a stage that another holds open.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    left: &mut LeftEnd<'k>,
    right: &mut Consumer<'k, smem::b, Right, Other<'k>, 4>,
    other: &mut Other<'k>,
    sums: &mut Sums<'k>,
) {
    let a = left.wait(thread).open(thread);
    let b = right.wait(other).open(other);
    let mut acc = sums.acquire(thread);
    acc.mma_of(thread, a.operand(), b.operand());
    acc.commit(thread);
    b.release_by_commit(other);
    a.release_by_commit(thread);
}

fn main() {
    let _ = multiply;
}
