//! Takes a `try_wait` for completion, whatever it said.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) -> u32 {
    let sums = sums.fill(cta, |i| i).arrive(cta).try_wait(cta);
    let first = sums.get(0);
    if let Ok(sums) = sums.completed() {
        sums.close(cta);
    }
    first
}

fn main() {
    let _ = first;
}
