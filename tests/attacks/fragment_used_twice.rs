//! Uses the registers of A while a group reads them.

#[path = "../fixture/fragment.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, a: A<'k>) {
    let (first, second) = (stages.wait(wg), stages.wait(wg));
    let (sum, a) = Sum::new(wg).fence_with(wg, a);
    let (sum, read) = sum.mma_async_with(wg, a, first);
    let _ = sum.mma_async_with(wg, a, second);
    let _ = read;
}

fn main() {
    let _ = multiply;
}
