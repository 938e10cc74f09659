//! Each CTA brings its half of B.

use baton::pair_accumulator::PairAccs;
use baton::prelude::*;
use baton::stages::ByPairMma;

baton::shared! {
    pub struct Smem in smem {
        ab: Stages<4, (Tile<bf16, 128, 64>, Tile<bf16, 32, 64>), ByBulk, ByPairMma>,
        acc: PairAccs<1, 64>,
    }
}

#[baton::kernel(threads = 192, cluster = 2)]
fn product(
    cta: Cta<'_, Smem, 192>,
    a: TensorMap<Tile<bf16, 128, 64>>,
    b: TensorMap<Tile<bf16, 32, 64>>,
) -> Exit<'_> {
    let leader = cta.pair_leader();
    let (cta, smem::Parts { ab, acc, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, memory) = acc.split();
    let (joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
            acc.fence_before_thread_sync(&mut wg).release(&mut wg);
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
                if let Some(leader) = leader {
                    let mut acc = accumulators.acquire(&mut t, leader);
                    let stage = stages.wait_for_both(&mut t, leader);
                    acc.mma(&mut t, stage).release_by_commit(&mut t);
                    acc.commit(&mut t);
                }
                accumulators.finish(&mut t)
            })
        }),
    ));
    let mut joined = joined.join_peers();
    let deallocated = memory.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, deallocated))
}

fn main() {}
