//! One elected lane loads.

use baton::prelude::*;

type Rows = Tile<bf16, 128, 64>;
baton::shared! { pub struct Smem in smem { rows: Stages<2, Rows, ByBulk, ByMma> } }

#[baton::kernel(threads = 32)]
fn load(cta: Cta<'_, Smem, 32>, a: TensorMap<Rows>) -> Exit<'_> {
    let (cta, smem::Parts { rows, .. }) = cta.claim();
    let (mut loads, _) = rows.split::<_, Thread<baton::token::Role<0>>, 2>();
    let (joined, (loaded,)) = cta.roles((warp(move |w| {
        w.elect(move |mut t| {
            loads.acquire(&mut t).load(&mut t, a.at(0, 0));
            loads.finish(&mut t)
        })
    }),));
    joined.exit((loaded,))
}

fn main() {}
