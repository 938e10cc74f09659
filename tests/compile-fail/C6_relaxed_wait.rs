//! Reads behind a relaxed wait.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) -> u32 {
    let sums = sums.fill(cta, |i| i).arrive(cta).wait_relaxed(cta);
    let first = sums.get(0);
    sums.fence_acquire(cta).close(cta);
    first
}

fn main() {
    let _ = first;
}
