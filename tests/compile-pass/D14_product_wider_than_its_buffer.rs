//! Puts the first 64 of 128 columns into a buffer.

use baton::prelude::*;
use baton::wgmma::Product;

baton::shared! { pub struct Smem in smem { c: Staging<Tile<f32, 64, 64>> } }

#[baton::kernel(threads = 128)]
fn zeros(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (cta, smem::Parts { c, .. }) = cta.claim();
    let (joined, (stored,)) = cta.roles((warpgroup(move |mut wg| {
        let mut staging = c.open(&mut wg);
        let product = Product::<[f32; 64], _>::new(&mut wg);
        staging.put_columns::<0, _, _, _, _>(&mut wg, &product, |_, _, sum| sum);
        staging.finish(&mut wg)
    }),));
    joined.exit((stored,))
}

fn main() {}
