//! The phase goes with the region.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn total<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) {
    let arrived = sums.fill(cta, |i| i).arrive(cta);
    let arrived = arrived.wait(cta).arrive(cta);
    arrived.wait(cta).close(cta);
}

fn main() {
    let _ = total;
}
