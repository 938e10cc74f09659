//! Products of a warpgroup with A in registers: a fragment for each step.
use baton::global::TheWarpgroup;
use baton::prelude::*;
use baton::wgmma::{Fragment, Product};

baton::shared! {
    /// B's tiles.
    pub struct Smem in smem { b: Stages<2, Tile<bf16, 16, 64>, ByThreads, ByWgmma> }
}

/// Sums three products.
#[baton::kernel(threads = 160)]
pub fn fragments(
    cta: Cta<'_, Smem, 160>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
) -> Exit<'_> {
    let (cta, smem::Parts { b: parts, .. }) = cta.claim();
    let (mut filling, mut stages) = parts.split();
    let (joined, _) = cta.roles((
        warpgroup(move |mut wg| {
            let mut product = Product::<[f32; 8], _>::new(&mut wg);
            for round in 0..3 {
                let value = |row: u32, col: u32| bf16::from_f32((row + col + round) as f32);
                let fragment = Fragment::<bf16, _, 4>::new(&mut wg, value);
                let stage = stages.wait(&mut wg);
                let (issued, stage) = fragment.mma_async(&mut wg, product, stage);
                let committed = issued.commit_group(&mut wg, stage);
                let (settled, (_, stage)) = committed.wait_group::<0, _>(&mut wg);
                stage.release(&mut wg);
                product = settled;
            }
            let mut mine = output.partition(&wg);
            product.for_each(|k, value| mine.put(k.into(), value));
        }),
        warp(move |mut w| {
            for round in 0..3 {
                let value = |i: u32| bf16::from_f32((i % 7 + round) as f32);
                let stage = filling.acquire(&mut w).fill(&mut w, value);
                stage.fence_proxy_async(&mut w).publish(&mut w);
            }
        }),
    ));
    joined.exit(())
}
