//! Each CTA loads its share of the rows for both.

use baton::prelude::*;

type Whole = Tile<bf16, 128, 64>;
type Share = Tile<bf16, 64, 64>;

baton::shared! {
    pub struct Smem in smem { a: Stages<2, ToAll<Whole, 2>, ByBulk, ByThreads> }
}

#[baton::kernel(threads = 32, cluster = 2)]
fn load(cta: Cta<'_, Smem, 32>, a: TensorMap<Share>) -> Exit<'_> {
    let (cta, smem::Parts { a: parts, .. }) = cta.claim();
    let (mut loads, _stages) = parts.split::<_, Thread<'_, baton::token::Role<0>>, 2>();
    let (joined, (loaded,)) = cta.roles((warp(move |w| {
        w.elect(move |mut t| {
            loads.acquire(&mut t).load(&mut t, a.at(0, 0));
            loads.finish(&mut t)
        })
    }),));
    joined.exit((loaded,))
}

fn main() {
    let _ = load;
}
