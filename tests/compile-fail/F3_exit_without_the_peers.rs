//! Exits without having waited for the cluster's barrier.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 128, cluster = 2)]
fn exchange(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (mut cta, smem::Parts { halves, .. }) = cta.claim();
    let _arrived = halves.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta);
    cta.join().exit(())
}

fn main() {
    let _ = exchange;
}
