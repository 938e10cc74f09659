//! A staging tile whose columns are 64 when they are cut to 32 bits.

use baton::prelude::*;

type Huge = Tile<f32, 128, { (1 << 32) + 64 }>;

baton::shared! { pub struct Smem in smem { c: Staging<Huge> } }

#[baton::kernel(threads = 128)]
fn idle(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (mut cta, smem::Parts { c, .. }) = cta.claim();
    let stored = c.open(&mut cta).finish(&mut cta);
    cta.join().exit((stored,))
}

fn main() {}
