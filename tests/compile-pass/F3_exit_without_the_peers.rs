//! The exit comes behind the wait.

#[path = "../fixture/cluster.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 128, cluster = 2)]
fn exchange(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (mut cta, smem::Parts { halves, .. }) = cta.claim();
    let arrived = halves.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta);
    let closed = arrived.wait(&mut cta).close(&mut cta);
    cta.join().exit((closed,))
}

fn main() {
    let _ = exchange;
}
