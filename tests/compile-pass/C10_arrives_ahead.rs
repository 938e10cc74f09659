//! Waits between two arrivals.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn total<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) {
    let arrived = sums.fill(cta, |i| i).arrive(cta).wait(cta);
    arrived.arrive(cta).wait(cta).close(cta);
}

fn main() {
    let _ = total;
}
