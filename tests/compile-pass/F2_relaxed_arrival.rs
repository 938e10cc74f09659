//! A release fence that reaches the cluster stands before it.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) {
    let written = halves.fill(cta, |i| i);
    written.fence_release::<Cluster, _>(cta).arrive_relaxed(cta).wait(cta).close(cta);
}

fn main() {
    let _ = exchange;
}
