//! Multiplies by 64 rows into the registers of 64 columns.

use baton::prelude::*;
use baton::wgmma::Product;

type A = Tile<bf16, 64, 64>;
type B = Tile<bf16, 64, 64>;

baton::shared! { pub struct Smem in smem { ab: Stages<2, (A, B), ByBulk, ByWgmma> } }

#[baton::kernel(threads = 160)]
fn product(cta: Cta<'_, Smem, 160>, a: TensorMap<A>, b: TensorMap<B>) -> Exit<'_> {
    let (cta, smem::Parts { ab, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (joined, ((), loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let product = Product::<[f32; 32], _>::new(&mut wg).fence(&mut wg);
            let stage = stages.wait(&mut wg);
            let (product, stage) = product.mma_async(&mut wg, stage);
            let (_, stage) = product.commit_group(&mut wg, stage).wait_group::<0, _>(&mut wg);
            stage.release(&mut wg);
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
