//! One arrival, one wait.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) {
    halves.fill(cta, |i| i).arrive(cta).wait(cta).close(cta);
}

fn main() {
    let _ = exchange;
}
