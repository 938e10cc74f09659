//! Multiplies 32 columns in registers by a tile of 64.

use baton::prelude::*;
use baton::wgmma::{Fragment, Product};

baton::shared! {
    pub struct Smem in smem { b: Stages<4, Tile<bf16, 128, 64>, ByBulk, ByWgmma> }
}

#[baton::kernel(threads = 160)]
fn multiply(cta: Cta<'_, Smem, 160>, b: TensorMap<Tile<bf16, 128, 64>>) -> Exit<'_> {
    let (cta, smem::Parts { b: parts, .. }) = cta.claim();
    let (mut loads, mut stages) = parts.split();
    let (joined, (_, loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let a = Fragment::<bf16, _, 2>::new(&mut wg, |_, _| bf16::from_f32(1.0));
            let stage = stages.wait(&mut wg);
            let sum = Product::<[f32; 64], _>::new(&mut wg);
            let (sum, stage) = a.mma_async(&mut wg, sum, stage);
            let (_, (_, stage)) = sum.commit_group(&mut wg, stage).wait_group::<0, _>(&mut wg);
            stage.release(&mut wg);
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                loads.acquire(&mut t).load(&mut t, b.at(0, 0));
                loads.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded,))
}

fn main() {}
