//! Publishes to the cluster behind the instruction for the CTA's own shared memory alone, which is enough on an mbarrier.

#[path = "../fixture/cluster.rs"]
mod fixture;
use baton::ptx::fence::fence_release_sync_restrict_shared_cta_cluster;
use fixture::*;

fn exchange<'k>(cta: &mut Threads<'k>, halves: Halves<'k, Empty>) {
    let written = halves.fill(cta, |i| i);
    fence_release_sync_restrict_shared_cta_cluster();
    written.arrive_relaxed(cta).wait(cta).close(cta);
}

fn main() {
    let _ = exchange;
}
