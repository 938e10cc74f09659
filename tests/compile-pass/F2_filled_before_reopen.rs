//! Fills the region again when all have read it.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) {
    let halves = halves.fill(cta, |i| i).arrive(cta).wait(cta);
    let halves = halves.reopen(cta).fill(cta, |i| i + 1).arrive(cta).wait(cta);
    halves.close(cta);
}

fn main() {
    let _ = exchange;
}
