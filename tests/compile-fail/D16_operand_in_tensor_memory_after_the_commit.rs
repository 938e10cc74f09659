//! Multiplies an operand in tensor memory behind the commit that hands it back.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    made: &mut MadeEnd<'k>,
    right: &mut RightEnd<'k>,
    sums: &mut Sums<'k>,
) {
    let p = made.wait(thread).open(thread);
    let b = right.wait(thread).open(thread);
    p.release_by_commit(thread);
    let mut acc = sums.acquire(thread);
    acc.mma_of(thread, p.operand(), b.operand());
    acc.commit(thread);
    b.release_by_commit(thread);
}

fn main() {
    let _ = multiply;
}
