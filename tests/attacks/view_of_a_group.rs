//! Issues what reads a stage that is in a group already.

#[path = "../fixture/resident.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, left: &mut LeftEnd<'k>, right: &mut RightEnd<'k>) {
    let a = left.wait(wg).open(wg);
    let b = right.wait(wg).open(wg);
    let sum = Sum::new(wg).fence(wg).mma_async_of(wg, a.operand(), b.operand());
    let sum = sum.commit_group(wg, b);
    let sum = sum.mma_async_of(wg, a.operand(), b.operand());
    let _ = sum.commit_group(wg, a);
}

fn main() {
    let _ = multiply;
}
