//! Stores integers as bf16, by way of f32.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { c: Staging<Tile<bf16, 64, 64>> } }

#[baton::kernel(threads = 64)]
fn integers(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (mut cta, smem::Parts { c, .. }) = cta.claim();
    let mut staging = c.open(&mut cta);
    let sums: [i32; 64] = [1; 64];
    staging.put_with(&mut cta, 0, sums, |_row, _column, sum| sum as f32);
    let stored = staging.finish(&mut cta);
    cta.join().exit((stored,))
}

fn main() {}
