//! What an instruction of a whole warp or group takes, and what a leader hands back, chosen by the thread and chosen by the host.

use baton::accumulator::Accs;
use baton::global::Store;
use baton::prelude::*;
use baton::takeover::Takeover;
use baton::token::{Role, Thread};
use baton::wgmma::Product;

type C = Tile<f32, 32, 32>;
type A = Tile<bf16, 64, 64>;
type B = Tile<bf16, 128, 64>;

baton::shared! {
    pub struct Taken in taken { tiles: Takeover<2, 2> }
}
baton::shared! {
    pub struct Copied in copied { words: Stages<2, Linear<u32, 32>, ByThreads, ByThreads>, c: Staging<C> }
}
baton::shared! {
    pub struct Summed in summed { acc: Accs<2, 128, 64> }
}
baton::shared! {
    pub struct Multiplied in multiplied { ab: Stages<2, (A, B), ByBulk, ByWgmma> }
}

/// Wrong: a warp follows twice, and each half of it looks at another answer.
#[baton::kernel(threads = 64)]
pub fn followed_by_lane(cta: Cta<'_, Taken, 64>) -> Exit<'_> {
    let (cta, taken::Parts { tiles, .. }) = cta.claim();
    let (asker, (first, second)) = tiles.split();
    let (joined, (asked, ())) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut me| {
            if let Some((ahead, _)) = first.next(&mut me) {
                let chosen = if me.lane() < 16 { ahead } else { second };
                let _ = chosen.next(&mut me); // meets
            }
        }),
    ));
    joined.exit((asked,))
}

/// The host says which.
#[baton::kernel(threads = 64)]
pub fn followed_by_parameter(cta: Cta<'_, Taken, 64>, n: u32) -> Exit<'_> {
    let (cta, taken::Parts { tiles, .. }) = cta.claim();
    let (asker, (first, second)) = tiles.split();
    let (joined, (asked, ())) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut me| {
            if let Some((ahead, _)) = first.next(&mut me) {
                let chosen = if n < 16 { ahead } else { second };
                let _ = chosen.next(&mut me);
            }
        }),
    ));
    joined.exit((asked,))
}

/// Wrong: each half of the warp has read another stage, and the leader hands its own back.
#[baton::kernel(threads = 64)]
pub fn handed_back_by_lane(cta: Cta<'_, Copied, 64>, out: TensorMap<C, Store>) -> Exit<'_> {
    let (cta, copied::Parts { words, c }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, (stored, ())) = cta.roles((
        warp(move |mut me| {
            let early = draining.wait(&mut me);
            let late = draining.wait(&mut me);
            let (first, second) = if me.lane() < 16 { (early, late) } else { (late, early) };
            let mut c = c.open(&mut me);
            c.put(&mut me, 0, [1.0; 32]);
            let c = c.fence_proxy_async(&mut me).store_and_release(&mut me, out.at(0, 0), first); // meets
            second.release(&mut me);
            c.finish(&mut me)
        }),
        warp(move |mut me| {
            for _ in 0..2 {
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
            }
        }),
    ));
    joined.exit((stored,))
}

/// The host says in which order.
#[baton::kernel(threads = 64)]
pub fn handed_back_by_parameter(cta: Cta<'_, Copied, 64>, n: u32, out: TensorMap<C, Store>) -> Exit<'_> {
    let (cta, copied::Parts { words, c }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, (stored, ())) = cta.roles((
        warp(move |mut me| {
            let early = draining.wait(&mut me);
            let late = draining.wait(&mut me);
            let (first, second) = if n < 16 { (early, late) } else { (late, early) };
            let mut c = c.open(&mut me);
            c.put(&mut me, 0, [1.0; 32]);
            let c = c.fence_proxy_async(&mut me).store_and_release(&mut me, out.at(0, 0), first);
            second.release(&mut me);
            c.finish(&mut me)
        }),
        warp(move |mut me| {
            for _ in 0..2 {
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
            }
        }),
    ));
    joined.exit((stored,))
}

/// Wrong: the leader names its own place beside the stage.
#[baton::kernel(threads = 64)]
pub fn handed_back_to_a_place_by_lane(cta: Cta<'_, Copied, 64>, out: TensorMap<C, Store>) -> Exit<'_> {
    let (cta, copied::Parts { words, c }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, (stored, ())) = cta.roles((
        warp(move |mut me| {
            let stage = draining.wait(&mut me);
            let row = me.lane() as i32;
            let mut c = c.open(&mut me);
            c.put(&mut me, 0, [1.0; 32]);
            let c = c.fence_proxy_async(&mut me).store_and_release(&mut me, out.at(row, 0), stage); // meets
            c.finish(&mut me)
        }),
        warp(move |mut me| filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me)),
    ));
    joined.exit((stored,))
}

/// Wrong: each lane loads from a column of its own.
#[baton::kernel(threads = 192)]
pub fn loaded_by_lane(cta: Cta<'_, Summed, 192>, out: GlobalPtr<u32, baton::global::TheWarpgroup<0>>) -> Exit<'_> {
    let (cta, summed::Parts { acc, .. }) = cta.claim();
    let (mut issuing, mut results, _) = acc.split::<Thread<'_, Role<1>>, _>();
    let (_, _) = cta.roles((
        warpgroup(move |mut wg| {
            let mut out = out.partition(&wg);
            let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let col = wg.rank() % 32;
            let (acc, values) = acc.ld::<32>(&mut wg, col).wait_ld(&mut wg); // meets
            out.put(0, values[0].to_bits());
            acc.fence_before_thread_sync(&mut wg).release(&mut wg);
        }),
        warp(move |me| me.elect(move |mut t| issuing.acquire(&mut t).commit(&mut t))),
        warp(move |_| {}),
    ));
    loop {}
}

/// Each warp loads from columns of its own.
#[baton::kernel(threads = 192)]
pub fn loaded_by_warp(cta: Cta<'_, Summed, 192>, out: GlobalPtr<u32, baton::global::TheWarpgroup<0>>) -> Exit<'_> {
    let (cta, summed::Parts { acc, .. }) = cta.claim();
    let (mut issuing, mut results, _) = acc.split::<Thread<'_, Role<1>>, _>();
    let (_, _) = cta.roles((
        warpgroup(move |mut wg| {
            let mut out = out.partition(&wg);
            let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let col = wg.rank() / 32 * 8;
            let (acc, values) = acc.ld::<32>(&mut wg, col).wait_ld(&mut wg);
            out.put(0, values[0].to_bits());
            acc.fence_before_thread_sync(&mut wg).release(&mut wg);
        }),
        warp(move |me| me.elect(move |mut t| issuing.acquire(&mut t).commit(&mut t))),
        warp(move |_| {}),
    ));
    loop {}
}

/// Wrong: each lane stores to a column of its own.
#[baton::kernel(threads = 192)]
pub fn kept_by_lane(cta: Cta<'_, Summed, 192>) -> Exit<'_> {
    let (cta, summed::Parts { acc, .. }) = cta.claim();
    let (mut issuing, mut results, _) = acc.split::<Thread<'_, Role<1>>, _>();
    let (_, _) = cta.roles((
        warpgroup(move |mut wg| {
            let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let col = wg.rank() % 32;
            let acc = acc.st::<32>(&mut wg, col, [1.0; 32]).wait_st(&mut wg); // meets
            acc.fence_before_thread_sync(&mut wg).release(&mut wg);
        }),
        warp(move |me| me.elect(move |mut t| issuing.acquire(&mut t).commit(&mut t))),
        warp(move |_| {}),
    ));
    loop {}
}

/// Wrong: each half of a warp multiplies another stage.
#[baton::kernel(threads = 160)]
pub fn multiplied_by_lane(cta: Cta<'_, Multiplied, 160>, a: TensorMap<A>, b: TensorMap<B>) -> Exit<'_> {
    let (cta, multiplied::Parts { ab, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (joined, ((), loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let product = Product::<[f32; 64], _>::new(&mut wg).fence(&mut wg);
            let early = stages.wait(&mut wg);
            let late = stages.wait(&mut wg);
            let (first, second) = if wg.rank() % 32 < 16 { (early, late) } else { (late, early) };
            let (product, first) = product.mma_async(&mut wg, first); // meets
            let (product, read) = product.commit_group(&mut wg, first).wait_group::<0, _>(&mut wg);
            read.release(&mut wg);
            let (product, second) = product.fence(&mut wg).mma_async(&mut wg, second);
            let (_product, read) = product.commit_group(&mut wg, second).wait_group::<0, _>(&mut wg);
            read.release(&mut wg);
        }),
        warp(move |me| {
            me.elect(move |mut t| {
                for k in [0, 64] {
                    loads.acquire(&mut t).load(&mut t, (a.at(0, k), b.at(0, k)));
                }
                loads.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded,))
}

/// The host says which comes first.
#[baton::kernel(threads = 160)]
pub fn multiplied_by_parameter(cta: Cta<'_, Multiplied, 160>, n: u32, a: TensorMap<A>, b: TensorMap<B>) -> Exit<'_> {
    let (cta, multiplied::Parts { ab, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (joined, ((), loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let product = Product::<[f32; 64], _>::new(&mut wg).fence(&mut wg);
            let early = stages.wait(&mut wg);
            let late = stages.wait(&mut wg);
            let (first, second) = if n < 16 { (early, late) } else { (late, early) };
            let (product, first) = product.mma_async(&mut wg, first);
            let (product, read) = product.commit_group(&mut wg, first).wait_group::<0, _>(&mut wg);
            read.release(&mut wg);
            let (product, second) = product.fence(&mut wg).mma_async(&mut wg, second);
            let (_product, read) = product.commit_group(&mut wg, second).wait_group::<0, _>(&mut wg);
            read.release(&mut wg);
        }),
        warp(move |me| {
            me.elect(move |mut t| {
                for k in [0, 64] {
                    loads.acquire(&mut t).load(&mut t, (a.at(0, k), b.at(0, k)));
                }
                loads.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded,))
}
