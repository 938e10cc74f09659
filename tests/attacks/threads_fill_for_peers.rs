//! Fills by ordinary stores a stage that the CTAs of a cluster fill together.

use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { a: Stages<2, ToAll<Tile<bf16, 128, 64>, 2>, ByThreads, ByThreads> }
}

#[baton::kernel(threads = 64, cluster = 2)]
fn fill(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (cta, smem::Parts { a, .. }) = cta.claim();
    let (mut filling, mut draining) = a.split();
    let (joined, _) = cta.roles((
        warp(move |mut w| filling.acquire(&mut w).fill(&mut w, |_| bf16::from_bits(0)).publish(&mut w)),
        warp(move |mut w| draining.wait(&mut w).release(&mut w)),
    ));
    joined.exit(())
}

fn main() {
    let _ = fill;
}
