//! All 32 lanes of a warp load on a barrier that counts one.

use baton::prelude::*;

type Rows = Tile<bf16, 128, 64>;
baton::shared! { pub struct Smem in smem { rows: Stages<2, Rows, ByBulk, ByMma> } }

#[baton::kernel(threads = 32)]
fn load(cta: Cta<'_, Smem, 32>, a: TensorMap<Rows>) -> Exit<'_> {
    let (cta, smem::Parts { rows, .. }) = cta.claim();
    let (mut loads, _) = rows.split::<_, Thread<baton::token::Role<0>>, 2>();
    let (joined, (loaded,)) = cta.roles((warp(move |mut w| {
        loads.acquire(&mut w).load(&mut w, a.at(0, 0));
        loads.finish(&mut w)
    }),));
    joined.exit((loaded,))
}

fn main() {}
