//! Publishes to the cluster behind a fence that speaks of the CTA's own shared memory alone.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) {
    let written = halves.fill(cta, |i| i);
    written.fence_release_own(cta).arrive_relaxed(cta).wait(cta).close(cta);
}

fn main() {
    let _ = exchange;
}
