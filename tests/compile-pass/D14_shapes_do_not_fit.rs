//! The accumulator has the rows of A and of B.

use baton::accumulator::Accs;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem {
        ab: Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 64, 64>), ByBulk, ByMma>,
        acc: Accs<1, 128, 64>,
    }
}

fn multiply<'k>(smem::Parts { ab, acc, .. }: smem::Parts<'k>, t: &mut Thread<'k, baton::token::Role<1>>) {
    let (_, mut stages) = ab.split::<Thread<baton::token::Role<0>>, _, 2>();
    let (mut accumulators, ..) = acc.split::<_, Warpgroup<baton::token::Role<0>>>();
    let mut acc = accumulators.acquire(t);
    let stage = stages.wait(t);
    acc.mma(t, stage).release_by_commit(t);
    acc.commit(t);
}

fn main() {
    let _ = multiply;
}
