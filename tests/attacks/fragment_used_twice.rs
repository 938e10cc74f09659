//! Uses the registers of A while a group reads them.

#[path = "../fixture/fragment.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, a: A<'k>) {
    let (first, second) = (stages.wait(wg), stages.wait(wg));
    let sum = Sum::new(wg);
    let (sum, first) = a.mma_async(wg, sum, first);
    let _ = a.mma_async(wg, sum, second);
    let _ = first;
}

fn main() {
    let _ = multiply;
}
