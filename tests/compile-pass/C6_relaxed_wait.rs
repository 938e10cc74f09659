//! A fence makes the relaxed wait an acquire pattern.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) -> u32 {
    let sums = sums.fill(cta, |i| i).arrive(cta).wait_relaxed(cta);
    let sums = sums.fence_acquire(cta);
    let first = sums.get(0);
    sums.close(cta);
    first
}

fn main() {
    let _ = first;
}
