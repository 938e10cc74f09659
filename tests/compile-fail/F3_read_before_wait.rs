//! Reads a peer's memory that the peer may not have written.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) -> u32 {
    let halves = halves.fill(cta, |i| i).arrive(cta);
    let first = halves.get(1, 0);
    halves.wait(cta).close(cta);
    first
}

fn main() {
    let _ = exchange;
}
