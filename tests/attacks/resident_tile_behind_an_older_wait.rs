//! Releases a resident tile behind a wait that covers older groups only: it went into the newest.

#[path = "../fixture/resident.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, left: &mut LeftEnd<'k>, right: &mut RightEnd<'k>) {
    let a = left.wait(wg).open(wg);
    let b = right.wait(wg).open(wg);
    let sum = Sum::new(wg).fence(wg).mma_async_of(wg, a.operand(), b.operand());
    let sum = sum.commit_group(wg, b);
    let b = right.wait(wg).open(wg);
    let sum = sum.mma_async_of(wg, a.operand(), b.operand());
    let (_, (a, b)) = sum.commit_group(wg, (a, b)).wait_group::<1, _>(wg);
    a.release(wg);
    b.release(wg);
}

fn main() {
    let _ = multiply;
}
