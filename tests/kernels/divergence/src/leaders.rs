//! What a leader uses for its set, chosen by the thread, and chosen by the host.

use baton::global::Store;
use baton::prelude::*;
use baton::protocol::{Dekker, End, GridExchange, Mailbox, Once, SpinLock};
use baton::relay::Relay;

type C = Tile<f32, 32, 32>;

baton::shared! {
    pub struct Relayed in relayed { words: Relay<2, u32, 32, 2> }
}
baton::shared! {
    pub struct Staged in staged { c: Staging<C> }
}

/// Wrong: each half of the warp asks for another array.
#[baton::kernel(threads = 64)]
pub fn tried_by_lane(cta: Cta<'_, NoShared, 64>, left: SpinLock<u32>, right: SpinLock<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let chosen = if me.lane() < 16 { left } else { right };
            let taken = chosen.try_lock(&mut me); // meets
            if let Some(held) = taken {
                held.update(&mut me, |_, n| n + 1).release(&mut me)
            }
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// The host says which.
#[baton::kernel(threads = 64)]
pub fn tried_by_parameter(
    cta: Cta<'_, NoShared, 64>,
    n: u32,
    left: SpinLock<u32>,
    right: SpinLock<u32>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let chosen = if n == 0 { left } else { right };
            if let Some(held) = chosen.try_lock(&mut me) {
                held.update(&mut me, |_, n| n + 1).release(&mut me)
            }
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// Wrong: each half of the warp gives another array back first.
#[baton::kernel(threads = 64)]
pub fn released_by_lane(cta: Cta<'_, NoShared, 64>, left: SpinLock<u32>, right: SpinLock<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let left = left.lock(&mut me);
            let right = right.lock(&mut me);
            let (first, second) = if me.lane() < 16 { (left, right) } else { (right, left) };
            first.release(&mut me); // meets
            second.update(&mut me, |_, n| n + 1).release(&mut me);
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// The host says in which order.
#[baton::kernel(threads = 64)]
pub fn released_by_parameter(
    cta: Cta<'_, NoShared, 64>,
    n: u32,
    left: SpinLock<u32>,
    right: SpinLock<u32>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let left = left.lock(&mut me);
            let right = right.lock(&mut me);
            let (first, second) = if n < 16 { (left, right) } else { (right, left) };
            first.release(&mut me);
            second.update(&mut me, |_, n| n + 1).release(&mut me);
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// Wrong: each half of the warp fills another array.
#[baton::kernel(threads = 64)]
pub fn filled_by_lane(cta: Cta<'_, NoShared, 64>, left: Once<u32>, right: Once<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let chosen = if me.lane() < 16 { left } else { right };
            baton::assert!(chosen.get_or_fill(&mut me, |i| i as u32).get(0) == 0); // meets
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// The host says which.
#[baton::kernel(threads = 64)]
pub fn filled_by_parameter(cta: Cta<'_, NoShared, 64>, n: u32, left: Once<u32>, right: Once<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let chosen = if n < 16 { left } else { right };
            baton::assert!(chosen.get_or_fill(&mut me, |i| i as u32).get(0) == 0);
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// Wrong: each half of the warp announces itself at another array.
#[baton::kernel(threads = 64)]
pub fn announced_by_lane(cta: Cta<'_, NoShared, 64>, left: Dekker<u32>, right: Dekker<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let (left, right) = (left.side(&mut me), right.side(&mut me));
            if let (Some(mut left), Some(mut right)) = (left, right) {
                let chosen = if me.lane() < 16 { &mut left } else { &mut right };
                let fenced = chosen.announce(&mut me).fence_sc::<Gpu, _>(&mut me); // meets
                if let Some(held) = fenced.look(&mut me) {
                    held.release(&mut me);
                }
            }
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// The host says at which.
#[baton::kernel(threads = 64)]
pub fn announced_by_parameter(
    cta: Cta<'_, NoShared, 64>,
    n: u32,
    left: Dekker<u32>,
    right: Dekker<u32>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let (left, right) = (left.side(&mut me), right.side(&mut me));
            if let (Some(mut left), Some(mut right)) = (left, right) {
                let chosen = if n < 16 { &mut left } else { &mut right };
                let fenced = chosen.announce(&mut me).fence_sc::<Gpu, _>(&mut me);
                if let Some(held) = fenced.look(&mut me) {
                    held.update(&mut me, |_, n| n + 1).release(&mut me);
                }
            }
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// Wrong: each half of the warp sends another message.
#[baton::kernel(threads = 64)]
pub fn sent_by_lane(
    cta: Cta<'_, NoShared, 64>,
    left: Mailbox<u32, 0, 1>,
    right: Mailbox<u32, 0, 1>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let (left, right) = (left.end(&mut me), right.end(&mut me));
            if let (End::Sender(left), End::Sender(right)) = (left, right) {
                let (left, right) = (left.fill(&mut me, |_| 1), right.fill(&mut me, |_| 2));
                let (first, second) = if me.lane() < 16 { (left, right) } else { (right, left) };
                first.send(&mut me); // meets
                second.send(&mut me);
            }
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// Wrong: as above, by a relaxed store.
#[baton::kernel(threads = 64)]
pub fn stored_by_lane(
    cta: Cta<'_, NoShared, 64>,
    left: Mailbox<u32, 0, 1>,
    right: Mailbox<u32, 0, 1>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let (left, right) = (left.end(&mut me), right.end(&mut me));
            if let (End::Sender(left), End::Sender(right)) = (left, right) {
                let left = left.fill(&mut me, |_| 1).fence_release::<Gpu, _>(&mut me);
                let right = right.fill(&mut me, |_| 2).fence_release::<Gpu, _>(&mut me);
                let (first, second) = if me.lane() < 16 { (left, right) } else { (right, left) };
                first.store_relaxed(&mut me); // meets
                second.store_relaxed(&mut me);
            }
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// The host says which message is the first.
#[baton::kernel(threads = 64)]
pub fn sent_by_parameter(
    cta: Cta<'_, NoShared, 64>,
    n: u32,
    left: Mailbox<u32, 0, 1>,
    right: Mailbox<u32, 0, 1>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let (left, right) = (left.end(&mut me), right.end(&mut me));
            if let (End::Sender(left), End::Sender(right)) = (left, right) {
                let (left, right) = (left.fill(&mut me, |_| 1), right.fill(&mut me, |_| 2));
                let (first, second) = if n < 16 { (left, right) } else { (right, left) };
                first.send(&mut me);
                second.fence_release::<Gpu, _>(&mut me).store_relaxed(&mut me);
            }
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// Wrong: each half of the warp hands another stage to the next CTA.
#[baton::kernel(threads = 64, cluster = 2)]
pub fn relayed_by_lane(cta: Cta<'_, Relayed, 64>) -> Exit<'_> {
    let (cta, relayed::Parts { words, .. }) = cta.claim();
    let (mut giving, mut taking) = words.split();
    let (joined, (passed, ())) = cta.roles((
        warp(move |mut me| {
            let early = giving.acquire(&mut me).fill(&mut me, |k| k);
            let late = giving.acquire(&mut me).fill(&mut me, |k| k);
            let (first, second) = if me.lane() < 16 { (early, late) } else { (late, early) };
            first.publish::<Cluster, _>(&mut me); // meets
            second.publish::<Cluster, _>(&mut me);
            giving.finish(&mut me)
        }),
        warp(move |mut me| {
            for _ in 0..2 {
                taking.wait::<Cluster, _>(&mut me).release::<Cluster, _>(&mut me);
            }
        }),
    ));
    joined.exit((passed,))
}

/// Wrong: each half of the warp hands another stage back.
#[baton::kernel(threads = 64, cluster = 2)]
pub fn taken_by_lane(cta: Cta<'_, Relayed, 64>) -> Exit<'_> {
    let (cta, relayed::Parts { words, .. }) = cta.claim();
    let (mut giving, mut taking) = words.split();
    let (joined, (passed, ())) = cta.roles((
        warp(move |mut me| {
            for _ in 0..2 {
                giving.acquire(&mut me).fill(&mut me, |k| k).publish::<Cluster, _>(&mut me);
            }
            giving.finish(&mut me)
        }),
        warp(move |mut me| {
            let early = taking.wait::<Cluster, _>(&mut me);
            let late = taking.wait::<Cluster, _>(&mut me);
            let (first, second) = if me.lane() < 16 { (early, late) } else { (late, early) };
            first.release::<Cluster, _>(&mut me); // meets
            second.release::<Cluster, _>(&mut me);
        }),
    ));
    joined.exit((passed,))
}

/// The host says in which order stages go round.
#[baton::kernel(threads = 64, cluster = 2)]
pub fn relayed_by_parameter(cta: Cta<'_, Relayed, 64>, n: u32) -> Exit<'_> {
    let (cta, relayed::Parts { words, .. }) = cta.claim();
    let (mut giving, mut taking) = words.split();
    let (joined, (passed, ())) = cta.roles((
        warp(move |mut me| {
            let early = giving.acquire(&mut me).fill(&mut me, |k| k);
            let late = giving.acquire(&mut me).fill(&mut me, |k| k);
            let (first, second) = if n < 16 { (early, late) } else { (late, early) };
            first.publish::<Cluster, _>(&mut me);
            second.publish::<Cluster, _>(&mut me);
            giving.finish(&mut me)
        }),
        warp(move |mut me| {
            let early = taking.wait::<Cluster, _>(&mut me);
            let late = taking.wait::<Cluster, _>(&mut me);
            let (first, second) = if n > 16 { (early, late) } else { (late, early) };
            first.release::<Cluster, _>(&mut me);
            second.release::<Cluster, _>(&mut me);
        }),
    ));
    joined.exit((passed,))
}

/// Wrong: the lanes name different places, and the leader stores to its own.
#[baton::kernel(threads = 64)]
pub fn staged_by_lane(cta: Cta<'_, Staged, 64>, out: TensorMap<C, Store>) -> Exit<'_> {
    let (cta, staged::Parts { c, .. }) = cta.claim();
    let (joined, (stored, ())) = cta.roles((
        warp(move |mut me| {
            let row = me.lane() as i32;
            let mut c = c.open(&mut me);
            c.put(&mut me, 0, [1.0; 32]);
            c.fence_proxy_async(&mut me).store(&mut me, out.at(row, 0)).finish(&mut me) // meets
        }),
        warp(move |_idle| {}),
    ));
    joined.exit((stored,))
}

/// The block's number says the place.
#[baton::kernel(threads = 64)]
pub fn staged_by_block(cta: Cta<'_, Staged, 64>, out: TensorMap<C, Store>) -> Exit<'_> {
    let row = cta.index().x as i32 * 32;
    let (cta, staged::Parts { c, .. }) = cta.claim();
    let (joined, (stored, ())) = cta.roles((
        warp(move |mut me| {
            let mut c = c.open(&mut me);
            c.put(&mut me, 0, [1.0; 32]);
            c.fence_proxy_async(&mut me).store(&mut me, out.at(row, 0)).finish(&mut me)
        }),
        warp(move |_idle| {}),
    ));
    joined.exit((stored,))
}

/// Wrong: each half of the CTA goes a step of another exchange.
#[baton::kernel(threads = 64)]
pub fn stepped_by_rank(cta: Cta<'_, NoShared, 64>, left: GridExchange<u32>, right: GridExchange<u32>) -> Exit<'_> {
    let mut me = cta;
    let (mut left, mut right) = (left.open(&mut me), right.open(&mut me));
    let chosen = if me.rank() < 32 { &mut left } else { &mut right };
    chosen.step(&mut me, |_, i| i as u32); // meets
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// The host says which.
#[baton::kernel(threads = 64)]
pub fn stepped_by_parameter(
    cta: Cta<'_, NoShared, 64>,
    n: u32,
    left: GridExchange<u32>,
    right: GridExchange<u32>,
) -> Exit<'_> {
    let mut me = cta;
    let (mut left, mut right) = (left.open(&mut me), right.open(&mut me));
    let chosen = if n < 32 { &mut left } else { &mut right };
    chosen.step(&mut me, |_, i| i as u32);
    let (cta, ()) = me.claim();
    cta.join().exit(())
}
