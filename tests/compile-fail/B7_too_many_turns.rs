//! More buffers than a wait can tell apart.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { c: Staging<Tile<f32, 128, 32>, 5> } }

#[baton::kernel(threads = 128)]
fn nothing(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (mut cta, smem::Parts { c, .. }) = cta.claim();
    let stored = c.open(&mut cta).finish(&mut cta);
    cta.join().exit((stored,))
}

fn main() {}
