//! Ends with an arrival on the cluster's barrier that nobody waits for.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) {
    halves.fill(cta, |i| i).arrive(cta).close(cta);
}

fn main() {
    let _ = exchange;
}
