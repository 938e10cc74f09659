//! Multiplies the operand of a stage that was not opened.

#[path = "../fixture/resident.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, left: &mut LeftEnd<'k>, right: &mut RightEnd<'k>) {
    let a = left.wait(wg);
    let b = right.wait(wg).open(wg);
    let sum = Sum::new(wg).fence(wg).mma_async_of(wg, a.operand(), b.operand());
    let (_, b) = sum.commit_group(wg, b).wait_group::<0, _>(wg);
    b.release(wg);
}

fn main() {
    let _ = multiply;
}
