//! Fills stages together with peers that the kernel is not launched with.

use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { a: Stages<2, ToAll<Tile<bf16, 128, 64>, 2>, ByBulk, ByThreads> }
}

#[baton::kernel(threads = 32)]
fn load(cta: Cta<'_, Smem, 32>) -> Exit<'_> {
    let (cta, smem::Parts { a, .. }) = cta.claim();
    let (loads, _stages) = a.split::<_, Cta<'_, baton::layout::Claimed<Smem>, 32>, 2>();
    let mut cta = cta;
    let loaded = loads.finish(&mut cta);
    cta.join().exit((loaded,))
}

fn main() {
    let _ = load;
}
