//! Waits twice for the phase that one arrival began.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn total<'k>(cta: &mut Threads<'k>, sums: Sums<'k>) {
    let sums = sums.fill(cta, |i| i).arrive(cta).wait(cta);
    sums.wait(cta).close(cta);
}

fn main() {
    let _ = total;
}
