//! Takes rows once.

use baton::prelude::*;
use baton::wgmma::Product;

baton::shared! {
    pub struct Smem in smem {
        a: Stages<1, Tile<bf16, 128, 64>, ByBulk, ByWgmma>,
        b: Stages<2, Tile<bf16, 64, 64>, ByBulk, ByWgmma>,
    }
}

#[baton::kernel(threads = 160)]
fn product(cta: Cta<'_, Smem, 160>, a: TensorMap<Tile<bf16, 128, 64>>, b: TensorMap<Tile<bf16, 64, 64>>) -> Exit<'_> {
    let (cta, smem::Parts { a: left, b: right, .. }) = cta.claim();
    let (mut load_a, mut left) = left.split();
    let (mut load_b, mut right) = right.split();
    let (joined, ((), (a_loaded, b_loaded))) = cta.roles((
        warpgroup(move |mut wg| {
            let a = left.wait(&mut wg).open(&mut wg);
            let b = right.wait(&mut wg).open(&mut wg);
            let product = Product::<[f32; 32], _>::new(&mut wg).fence(&mut wg);
            let product = product.mma_async_of(&mut wg, a.operand().rows::<64, 64>(), b.operand());
            let (_, (a, b)) = product.commit_group(&mut wg, (a, b)).wait_group::<0, _>(&mut wg);
            a.release(&mut wg);
            b.release(&mut wg);
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                load_a.acquire(&mut t).load(&mut t, a.at(0, 0));
                load_b.acquire(&mut t).load(&mut t, b.at(0, 0));
                (load_a.finish(&mut t), load_b.finish(&mut t))
            })
        }),
    ));
    joined.exit((a_loaded, b_loaded))
}

fn main() {}
