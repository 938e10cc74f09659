//! Waits on the cluster's barrier and has not arrived.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) {
    halves.fill(cta, |i| i).wait(cta).close(cta);
}

fn main() {
    let _ = exchange;
}
