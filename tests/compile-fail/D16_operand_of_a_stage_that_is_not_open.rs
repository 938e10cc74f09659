//! Multiplies the operand of a stage that was not opened.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    left: &mut LeftEnd<'k>,
    right: &mut RightEnd<'k>,
    sums: &mut Sums<'k>,
) {
    let a = left.wait(thread).open(thread);
    let b = right.wait(thread);
    let mut acc = sums.acquire(thread);
    acc.mma_of(thread, a.operand(), b.operand());
    acc.commit(thread);
    a.release_by_commit(thread);
}

fn main() {
    let _ = multiply;
}
