//! The fence before the arrival on the cluster's barrier is one of all memory.

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
