//! A product in tensor memory: rules D1 and D5.

use baton::global::{Load, TheWarpgroup};
use baton::prelude::*;

type A = Tile<f16, 128, 64>;
type B = Tile<f16, 16, 64>;

baton::shared! {
    pub struct Smem in smem { ab: Stages<1, (A, B), ByBulk, ByMma>, acc: Accs<1, 128, 16> }
}

/// A thread loads a pair of tiles, another multiplies them, and a warpgroup loads the product.
#[baton::kernel(threads = 192, min_ctas = 1)]
pub fn multiply(
    cta: Cta<'_, Smem, 192>,
    a: TensorMap<A, Load>,
    b: TensorMap<B, Load>,
    out: GlobalPtr<f32, TheWarpgroup<0>>,
) -> Exit<'_> {
    let (cta, smem::Parts { ab, acc, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, tensor) = acc.split();
    let (mut joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = out.partition(&wg);
            let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let (acc, product) = acc.ld::<16>(&mut wg, 0).wait_ld(&mut wg);
            acc.fence_before_thread_sync(&mut wg).release(&mut wg);
            if !mine.is_empty() {
                mine.put(0, product[0]);
            }
            results.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                loads.acquire(&mut t).load(&mut t, (a.at(0, 0), b.at(0, 0)));
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut acc = accumulators.acquire(&mut t);
                let stage = stages.wait(&mut t);
                acc.mma(&mut t, stage).release_by_commit(&mut t);
                acc.commit(&mut t);
                accumulators.finish(&mut t)
            })
        }),
    ));
    let freed = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, freed))
}
