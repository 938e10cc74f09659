//! One product of a warpgroup, of tiles that bulk copies bring.
use baton::global::TheWarpgroup;
use baton::prelude::*;
use baton::wgmma::Product;

baton::shared! {
    /// A's and B's tiles.
    pub struct Smem in smem { ab: Stages<2, (Tile<bf16, 64, 64>, Tile<bf16, 16, 64>), ByBulk, ByWgmma> }
}

/// The product of one step.
#[baton::kernel(threads = 160)]
pub fn products(
    cta: Cta<'_, Smem, 160>,
    a: TensorMap<Tile<bf16, 64, 64>>,
    b: TensorMap<Tile<bf16, 16, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
) -> Exit<'_> {
    let (cta, smem::Parts { ab, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (joined, (_, loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let fenced = Product::<[f32; 8], _>::new(&mut wg).fence(&mut wg);
            let stage = stages.wait(&mut wg);
            let (issued, stage) = fenced.mma_async(&mut wg, stage);
            let committed = issued.commit_group(&mut wg, stage);
            let (product, stage) = committed.wait_group::<0, _>(&mut wg);
            stage.release(&mut wg);
            let mut mine = output.partition(&wg);
            product.for_each(|k, value| mine.put(k.into(), value));
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
