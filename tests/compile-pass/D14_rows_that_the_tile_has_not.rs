//! Multiplies the second 64 rows of a tile of 128.

use baton::prelude::*;
use baton::wgmma::Product;

baton::shared! {
    pub struct Smem in smem { ab: Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 128, 64>), ByBulk, ByWgmma> }
}

#[baton::kernel(threads = 160)]
fn product(
    cta: Cta<'_, Smem, 160>,
    a: TensorMap<Tile<bf16, 128, 64>>,
    b: TensorMap<Tile<bf16, 128, 64>>,
) -> Exit<'_> {
    let (cta, smem::Parts { ab, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (joined, ((), loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let product = Product::<[f32; 64], _>::new(&mut wg).fence(&mut wg);
            let stage = stages.wait(&mut wg);
            let (product, stage) = product.mma_async_rows::<1, _, _, _>(&mut wg, stage);
            let (_, read) = product.commit_group(&mut wg, stage).wait_group::<0, _>(&mut wg);
            read.release(&mut wg);
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                loads.acquire(&mut t).load(&mut t, (a.at(0, 0), b.at(0, 0)));
                loads.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded,))
}

fn main() {}
