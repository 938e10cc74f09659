//! Rings that several sets drain, in different ways.

use baton::global::{TheWarp, TheWarpgroup};
use baton::prelude::*;

type Operand = Tile<bf16, 128, 64>;

baton::shared! {
    /// Of a product whose second operand the CTAs of a cluster load for each other, and whose stages a warp looks at too.
    pub struct Watched in watched {
        ab: Stages<2, (Operand, ToAll<Operand, 2>), ByBulk, (ByMma, ByThreads)>,
        acc: Accs<1, 128, 128>,
    }
}

/// Each CTA of a pair multiplies its `a` with the `b` of both, and writes a column of the sum; beside it a warp adds up the first column
/// of B's tiles, one row in each lane.
#[baton::kernel(threads = 224, cluster = 2)]
pub fn watched(
    cta: Cta<'_, Watched, 224>,
    a: TensorMap<Operand>,
    b: TensorMap<Tile<bf16, 64, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    seen: GlobalPtr<f32, TheWarp<1>>,
    steps: u32,
) -> Exit<'_> {
    let row = (cta.index().x * 128) as i32;
    let (cta, watched::Parts { ab, acc, .. }) = cta.claim();
    let (mut loads, (mut stages, mut looks)) = ab.split_among();
    let (mut sums, mut results, tensor) = acc.split();
    let (mut joined, (drained, (), loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg);
            let sum = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let (sum, [value]) = sum.ld::<1>(&mut wg, 100).wait_ld(&mut wg);
            mine.put(0, value);
            sum.fence_before_thread_sync(&mut wg).release(&mut wg);
            results.finish(&mut wg)
        }),
        warp(move |mut w| {
            let mut mine = seen.partition(&w);
            let mut sum = 0.0;
            let mut step = 0;
            while step < steps {
                let stage = looks.wait(&mut w);
                sum += stage.get(128 * 64 + 64 * w.rank()).to_f32();
                stage.fence_proxy_async(&mut w).release(&mut w);
                step += 1;
            }
            mine.put(0, sum);
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut step = 0;
                while step < steps {
                    let k = (64 * step) as i32;
                    loads.acquire(&mut t).load(&mut t, (a.at(row, k), b.at(0, k)));
                    step += 1;
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut sum = sums.acquire(&mut t);
                let mut step = 0;
                while step < steps {
                    let stage = stages.wait(&mut t);
                    sum.mma(&mut t, stage).release_by_commit(&mut t);
                    step += 1;
                }
                sum.commit(&mut t);
                sums.finish(&mut t)
            })
        }),
    ));
    let closed = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, closed))
}

baton::shared! {
    /// Words that one warp writes and three read.
    pub struct Spread in spread {
        words: Stages<3, Linear<u32, 32>, ByThreads, (ByThreads, ByThreads, ByThreads)>,
    }
}

/// Three warps read every stage that the first has filled; each lane of each writes what it
/// has added up.
#[baton::kernel(threads = 128)]
pub fn spread(
    cta: Cta<'_, Spread, 128>,
    left: GlobalPtr<u32, TheWarp<1>>,
    middle: GlobalPtr<u32, TheWarp<2>>,
    right: GlobalPtr<u32, TheWarp<3>>,
    rounds: u32,
) -> Exit<'_> {
    let (cta, spread::Parts { words, .. }) = cta.claim();
    let (mut filling, (mut first, mut second, mut third)) = words.split_among();
    macro_rules! reads {
        ($end:ident, $output:ident, $factor:literal) => {
            warp(move |mut w| {
                let mut mine = $output.partition(&w);
                let mut sum = 0;
                for round in 0..rounds {
                    let stage = $end.wait(&mut w);
                    sum += $factor * stage.get((w.rank() + round) % 32);
                    stage.release(&mut w);
                }
                mine.put(0, sum);
            })
        };
    }
    let (joined, _) = cta.roles((
        warp(move |mut w| {
            for round in 0..rounds {
                filling.acquire(&mut w).fill(&mut w, |i| i + 100 * round).publish(&mut w);
            }
        }),
        reads!(first, left, 1),
        reads!(second, middle, 2),
        reads!(third, right, 3),
    ));
    joined.exit(())
}
