//! Arrives for the next phase before it has seen the last one complete.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn total<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) {
    let arrived = sums.fill(cta, |i| i).arrive(cta);
    arrived.arrive(cta).wait(cta).close(cta);
}

fn main() {
    let _ = total;
}
