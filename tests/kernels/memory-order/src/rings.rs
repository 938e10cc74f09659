//! Rings of stages in shared memory: rules B2, B6, B8, and C8 with them.

use baton::global::{Load, TheWarp};
use baton::prelude::*;

type In = Tile<u32, 8, 32>;

baton::shared! {
    pub struct Bulk in bulk { ring: Stages<1, In, ByBulk, ByThreads> }
}
baton::shared! {
    pub struct Copied in copied { ring: Stages<1, Linear<u32, 4>, ByThreads, ByThreads> }
}

/// One thread loads two tiles through one stage; a warp reads an element of the first and of the second.
#[baton::kernel(threads = 64)]
pub fn load_twice(
    cta: Cta<'_, Bulk, 64>,
    a: TensorMap<In, Load>,
    out: GlobalPtr<u32, TheWarp<1>>,
) -> Exit<'_> {
    let (cta, bulk::Parts { ring, .. }) = cta.claim();
    let (mut loads, mut arrivals) = ring.split();
    let (joined, (loaded, ())) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                loads.acquire(&mut t).load(&mut t, a.at(0, 0));
                loads.acquire(&mut t).load(&mut t, a.at(0, 32));
                loads.finish(&mut t)
            })
        }),
        warp(move |mut w| {
            let mut mine = out.partition(&w);
            let stage = arrivals.wait(&mut w);
            let first = stage.get(0);
            stage.fence_proxy_async(&mut w).release(&mut w);
            let stage = arrivals.wait(&mut w);
            let second = stage.get(0);
            stage.fence_proxy_async(&mut w).release(&mut w);
            if !mine.is_empty() {
                mine.put(0, 16 * first + second);
            }
        }),
    ));
    joined.exit((loaded,))
}

/// A warp copies a stage with `cp.async`, another reads it.
#[baton::kernel(threads = 64)]
pub fn copy_async(
    cta: Cta<'_, Copied, 64>,
    input: ReadOnly<u32>,
    out: GlobalPtr<u32, TheWarp<1>>,
) -> Exit<'_> {
    let (cta, copied::Parts { ring, .. }) = cta.claim();
    let (mut filling, mut draining) = ring.split();
    let (joined, _) = cta.roles((
        warp(move |mut w| {
            let slot = filling.acquire(&mut w).copy(&mut w, input, |i| i as u64);
            slot.wait_copies(&mut w).publish(&mut w);
        }),
        warp(move |mut w| {
            let mut mine = out.partition(&w);
            let slot = draining.wait(&mut w);
            let seen = slot.get(0);
            if !mine.is_empty() {
                mine.put(0, seen + 1);
            }
            slot.release(&mut w);
        }),
    ));
    joined.exit(())
}
