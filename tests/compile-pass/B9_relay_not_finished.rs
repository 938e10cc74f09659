//! The giving end waits until everything was taken, and the exit takes its proof.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 64, cluster = 2)]
fn pass_on(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (mut cta, smem::Parts { values, .. }) = cta.claim();
    let (mut giving, mut taking) = values.split();
    giving.acquire(&mut cta).fill(&mut cta, |i| i).publish::<Cluster, _>(&mut cta);
    taking.wait::<Cluster, _>(&mut cta).release::<Cluster, _>(&mut cta);
    let passed = giving.finish(&mut cta);
    cta.join().exit((passed,))
}

fn main() {}
