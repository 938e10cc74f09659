//! Takes the region out of the answer.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) -> u32 {
    let sums = sums.fill(cta, |i| i).arrive(cta).try_wait(cta);
    let sums = match sums.completed() {
        Ok(sums) => sums,
        Err(arrived) => arrived.wait(cta),
    };
    let first = sums.get(0);
    sums.close(cta);
    first
}

fn main() {
    let _ = first;
}
