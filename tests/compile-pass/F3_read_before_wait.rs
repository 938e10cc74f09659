//! Behind the wait it has.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) -> u32 {
    let halves = halves.fill(cta, |i| i).arrive(cta).wait(cta);
    let first = halves.get(1, 0);
    halves.close(cta);
    first
}

fn main() {
    let _ = exchange;
}
