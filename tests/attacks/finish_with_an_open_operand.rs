//! Ends the end of a ring in tensor memory while it holds an operand, of which an instruction is issued behind.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    mut made: MadeEnd<'k>,
    right: &mut RightEnd<'k>,
    sums: &mut Sums<'k>,
) {
    let p = made.wait(thread).open(thread);
    let b = right.wait(thread).open(thread);
    let _ = made.finish(thread);
    let mut acc = sums.acquire(thread);
    acc.mma_of(thread, p.operand(), b.operand());
    acc.commit(thread);
    p.release_by_commit(thread);
    b.release_by_commit(thread);
}

fn main() {
    let _ = multiply;
}
