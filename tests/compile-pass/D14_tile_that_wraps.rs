//! A staging tile that fits.

use baton::prelude::*;

type Small = Tile<f32, 128, 64>;

baton::shared! { pub struct Smem in smem { c: Staging<Small> } }

#[baton::kernel(threads = 128)]
fn idle(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (mut cta, smem::Parts { c, .. }) = cta.claim();
    let stored = c.open(&mut cta).finish(&mut cta);
    cta.join().exit((stored,))
}

fn main() {}
