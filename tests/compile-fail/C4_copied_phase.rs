//! Keeps the phase of an arrival and waits for it a second time.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn total<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) {
    let arrived = sums.fill(cta, |i| i).arrive(cta);
    arrived.wait(cta).close(cta);
    arrived.wait(cta).close(cta);
}

fn main() {
    let _ = total;
}
