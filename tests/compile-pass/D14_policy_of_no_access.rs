//! Gives one of a hundred accesses a priority.

use baton::cache::{EvictFirst, EvictLast, of_percent};
use baton::prelude::*;

type T = Tile<f32, 64, 32>;

baton::shared! { pub struct Smem in smem { x: Stages<1, T, ByBulk, ByThreads> } }

#[baton::kernel(threads = 64)]
fn load(cta: Cta<'_, Smem, 64>, x: TensorMap<T>) -> Exit<'_> {
    let (cta, smem::Parts { x: ring, .. }) = cta.claim();
    let (mut loads, mut stages) = ring.split();
    let (joined, (loaded, ())) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                let from = x.at(0, 0).cached(of_percent::<EvictLast, EvictFirst, 1>());
                loads.acquire(&mut t).load(&mut t, from);
                loads.finish(&mut t)
            })
        }),
        warp(move |mut w| {
            let stage = stages.wait(&mut w);
            stage.fence_proxy_async(&mut w).release(&mut w);
        }),
    ));
    joined.exit((loaded,))
}

fn main() {}
