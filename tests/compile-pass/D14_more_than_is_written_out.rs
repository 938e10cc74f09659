//! Puts 512 bytes of a row at once.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { c: Staging<Tile<bf16, 64, 512>> } }

#[baton::kernel(threads = 64)]
fn zeros(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (mut cta, smem::Parts { c, .. }) = cta.claim();
    let mut staging = c.open(&mut cta);
    staging.put(&mut cta, 0, [0.0f32; 256]);
    let stored = staging.finish(&mut cta);
    cta.join().exit((stored,))
}

fn main() {}
