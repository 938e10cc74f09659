//! Exits while what was pushed into the next CTA may be under way.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 64, cluster = 2)]
fn pass_on(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (mut cta, smem::Parts { values, .. }) = cta.claim();
    let (mut giving, mut taking) = values.split();
    giving.acquire(&mut cta).fill(&mut cta, |i| i).publish::<Cluster, _>(&mut cta);
    taking.wait::<Cluster, _>(&mut cta).release::<Cluster, _>(&mut cta);
    cta.join().exit(())
}

fn main() {}
