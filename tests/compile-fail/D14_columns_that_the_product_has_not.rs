//! Stores columns of a product behind its last one.

use baton::global::Store;
use baton::prelude::*;
use baton::wgmma::Product;

type Piece = Tile<f32, 64, 64>;

baton::shared! {
    pub struct Smem in smem { c: Staging<Piece> }
}

#[baton::kernel(threads = 128)]
fn zeros(cta: Cta<'_, Smem, 128>, c: TensorMap<Piece, Store>) -> Exit<'_> {
    let (cta, smem::Parts { c: staging, .. }) = cta.claim();
    let (joined, (stored,)) = cta.roles((warpgroup(move |mut wg| {
        let product = Product::<[f32; 64], _>::new(&mut wg);
        let mut staging = staging.open(&mut wg);
        staging.put_columns::<128, _, _, _, _>(&mut wg, &product, |_, _, sum| sum);
        staging.fence_proxy_async(&mut wg).store(&mut wg, c.at(0, 0)).finish(&mut wg)
    }),));
    joined.exit((stored,))
}

fn main() {}
