//! Parts that a choice by the thread's number gives to two roles, and choices that all threads make alike.

use baton::accumulator::Accs;
use baton::edited_map::EditedMap;
use baton::global::{Store, TheMaps};
use baton::pair_accumulator::PairAccs;
use baton::prelude::*;
use baton::protocol::{Dekker, End, LastArrival, Mailbox, Semaphore};
use baton::relay::Relay;
use baton::sem::AcqRel;
use baton::stages::ByPairMma;
use baton::takeover::Takeover;
use baton::token::Role;

type Words = Stages<2, Linear<u32, 32>, ByThreads, ByThreads>;
type C = Tile<f32, 32, 32>;

baton::shared! {
    pub struct Ring in ring_of { words: Words }
}
baton::shared! {
    pub struct Two in two_of { first: Words, second: Words }
}
baton::shared! {
    pub struct Staged in staged { c: Staging<C> }
}
baton::shared! {
    pub struct Relayed in relayed { words: Relay<1, u32, 32, 2> }
}
baton::shared! {
    pub struct Summed in summed { acc: Accs<1, 128, 64> }
}
baton::shared! {
    pub struct InPairs in in_pairs {
        ab: Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 32, 64>), ByBulk, ByPairMma>,
        acc: PairAccs<1, 64, 2>,
    }
}
baton::shared! {
    pub struct Taken in taken { tiles: Takeover<2, 1> }
}

/// Wrong: each warp has the ring.
#[baton::kernel(threads = 64)]
pub fn ring_by_rank(cta: Cta<'_, Ring, 64>) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(words), None) } else { (None, Some(words)) };
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let Some(words) = x {
                let (mut filling, mut draining) = words.split(); // meets
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
                draining.wait(&mut me).release(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(words) = y {
                let (mut filling, mut draining) = words.split(); // differs
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
                draining.wait(&mut me).release(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// The host says which warp has it.
#[baton::kernel(threads = 64)]
pub fn ring_by_parameter(cta: Cta<'_, Ring, 64>, n: u32) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (x, y) = if n > 5 { (Some(words), None) } else { (None, Some(words)) };
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let Some(words) = x {
                let (mut filling, mut draining) = words.split();
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
                draining.wait(&mut me).release(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(words) = y {
                let (mut filling, mut draining) = words.split();
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
                draining.wait(&mut me).release(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// Wrong: the ring is split for other roles in one warp than in the other.
#[baton::kernel(threads = 64)]
pub fn split_by_rank(cta: Cta<'_, Ring, 64>) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (x, y) = if cta.rank() < 32 {
        (Some(words.split()), None) // meets
    } else {
        (None, Some(words.split())) // differs
    };
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let Some((mut filling, mut draining)) = x {
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
                draining.wait(&mut me).release(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some((mut filling, mut draining)) = y {
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
                draining.wait(&mut me).release(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// Two rings, one for each warp.
#[baton::kernel(threads = 64)]
pub fn two_rings(cta: Cta<'_, Two, 64>) -> Exit<'_> {
    let (cta, two_of::Parts { first, second }) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let (mut filling, mut draining) = first.split();
            filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
            draining.wait(&mut me).release(&mut me);
        }),
        warp(move |mut me| {
            let (mut filling, mut draining) = second.split();
            filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
            draining.wait(&mut me).release(&mut me);
        }),
    ));
    joined.exit(())
}

/// Wrong: a warp chooses what the roles are, so that the third warp is the same role as the second.
#[baton::kernel(threads = 256)]
pub fn roles_by_rank(cta: Cta<'_, NoShared, 256>, out: GlobalPtr<u32, baton::global::TheWarp<1>>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    if cta.rank() < 128 { // branch
        let (joined, _) = cta.roles(( // meets
            warp(move |_| {}),
            warp(move |me| out.partition(&me).put(0, 1)),
            warp(move |_| {}),
            warp(move |_| {}),
            warpgroup(move |_| {}),
        ));
        joined.exit(())
    } else {
        let (joined, _) = cta.roles((
            warpgroup(move |_| {}),
            warp(move |me| out.partition(&me).put(0, 2)),
            warp(move |_| {}),
            warp(move |_| {}),
            warp(move |_| {}),
        ));
        joined.exit(())
    }
}

/// The host chooses what the roles are.
#[baton::kernel(threads = 256)]
pub fn roles_by_parameter(
    cta: Cta<'_, NoShared, 256>,
    n: u32,
    out: GlobalPtr<u32, baton::global::TheWarp<1>>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    if n > 5 {
        let (joined, _) = cta.roles((
            warp(move |_| {}),
            warp(move |me| out.partition(&me).put(0, 1)),
            warp(move |_| {}),
            warp(move |_| {}),
            warpgroup(move |_| {}),
        ));
        joined.exit(())
    } else {
        let (joined, _) = cta.roles((
            warpgroup(move |_| {}),
            warp(move |me| out.partition(&me).put(0, 2)),
            warp(move |_| {}),
            warp(move |_| {}),
            warp(move |_| {}),
        ));
        joined.exit(())
    }
}

/// Wrong: each warp has the staging buffer.
#[baton::kernel(threads = 64)]
pub fn staging_by_rank(cta: Cta<'_, Staged, 64>, out: TensorMap<C, Store>) -> Exit<'_> {
    let (cta, staged::Parts { c, .. }) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(c), None) } else { (None, Some(c)) };
    let (_, _) = cta.roles((
        warp(move |mut me| {
            if let Some(c) = x {
                let mut c = c.open(&mut me); // meets
                c.put(&mut me, 0, [1.0; 32]);
                c.fence_proxy_async(&mut me).store(&mut me, out.at(0, 0)).finish(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(c) = y {
                let mut c = c.open(&mut me); // differs
                c.put(&mut me, 0, [2.0; 32]);
                c.fence_proxy_async(&mut me).store(&mut me, out.at(32, 0)).finish(&mut me);
            }
        }),
    ));
    // The proof that the exit wants is no longer to be had.
    loop {}
}

/// The host says who stores.
#[baton::kernel(threads = 64)]
pub fn staging_by_parameter(cta: Cta<'_, Staged, 64>, n: u32, out: TensorMap<C, Store>) -> Exit<'_> {
    let (cta, staged::Parts { c, .. }) = cta.claim();
    let (x, y) = if n == 3 { (Some(c), None) } else { (None, Some(c)) };
    let (_, _) = cta.roles((
        warp(move |mut me| {
            if let Some(c) = x {
                let mut c = c.open(&mut me);
                c.put(&mut me, 0, [1.0; 32]);
                c.fence_proxy_async(&mut me).store(&mut me, out.at(0, 0)).finish(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(c) = y {
                let mut c = c.open(&mut me);
                c.put(&mut me, 0, [2.0; 32]);
                c.fence_proxy_async(&mut me).store(&mut me, out.at(32, 0)).finish(&mut me);
            }
        }),
    ));
    loop {}
}

/// Wrong: each warp has the relay.
#[baton::kernel(threads = 64, cluster = 2)]
pub fn relay_by_rank(cta: Cta<'_, Relayed, 64>) -> Exit<'_> {
    let (cta, relayed::Parts { words, .. }) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(words), None) } else { (None, Some(words)) };
    let (_, _) = cta.roles((
        warp(move |mut me| {
            if let Some(words) = x {
                let (mut giving, mut taking) = words.split(); // meets
                giving.acquire(&mut me).fill(&mut me, |k| k).publish::<Cluster, _>(&mut me);
                taking.wait::<Cluster, _>(&mut me).release::<Cluster, _>(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(words) = y {
                let (mut giving, mut taking) = words.split(); // differs
                giving.acquire(&mut me).fill(&mut me, |k| k).publish::<Cluster, _>(&mut me);
                taking.wait::<Cluster, _>(&mut me).release::<Cluster, _>(&mut me);
            }
        }),
    ));
    loop {}
}

/// Wrong: two threads issue into one accumulator.
#[baton::kernel(threads = 192)]
pub fn accumulators_by_rank(cta: Cta<'_, Summed, 192>) -> Exit<'_> {
    let (cta, summed::Parts { acc, .. }) = cta.claim();
    let (x, y) = if cta.rank() < 160 { (Some(acc), None) } else { (None, Some(acc)) };
    let (_, _) = cta.roles((
        warpgroup(move |_| {}),
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(acc) = x {
                    let (mut issuing, _, _) = acc.split::<_, Warpgroup<'_, Role<0>>>(); // meets
                    issuing.acquire(&mut t).commit(&mut t);
                }
            })
        }),
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(acc) = y {
                    let (mut issuing, _, _) = acc.split::<_, Warpgroup<'_, Role<0>>>(); // differs
                    issuing.acquire(&mut t).commit(&mut t);
                }
            })
        }),
    ));
    loop {}
}

/// Wrong: two threads of each CTA issue into one accumulator of the pair.
#[baton::kernel(threads = 192, cluster = 2)]
pub fn accumulators_of_a_pair_by_rank(cta: Cta<'_, InPairs, 192>) -> Exit<'_> {
    let (cta, in_pairs::Parts { acc, .. }) = cta.claim();
    // Asked for in both roles, and so scattered: LLVM gives such a call one range of addresses over all that lies between, and
    // the debug information of line tables does not say which file a function is of. So it seems to be around the first `split`.
    let leader = cta.pair_leader(); // meets
    let (x, y) = if cta.rank() < 160 { (Some(acc), None) } else { (None, Some(acc)) };
    let (_, _) = cta.roles((
        warpgroup(move |_| {}),
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(acc) = x {
                    let (mut issuing, _, _) = acc.split::<_, Warpgroup<'_, Role<0>>>();
                    if let Some(leader) = leader {
                        issuing.acquire(&mut t, leader).commit(&mut t);
                    }
                }
            })
        }),
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(acc) = y {
                    let (mut issuing, _, _) = acc.split::<_, Warpgroup<'_, Role<0>>>(); // differs
                    if let Some(leader) = leader {
                        issuing.acquire(&mut t, leader).commit(&mut t);
                    }
                }
            })
        }),
    ));
    loop {}
}

/// Wrong: two threads ask for work.
#[baton::kernel(threads = 64)]
pub fn takeover_by_rank(cta: Cta<'_, Taken, 64>) -> Exit<'_> {
    let (cta, taken::Parts { tiles, .. }) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(tiles), None) } else { (None, Some(tiles)) };
    let (_, _) = cta.roles((
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(tiles) = x {
                    let (asker, (follower,)) = tiles.split(); // meets
                    let mut next = Some(follower.own());
                    asker.ask(&mut t);
                    while let Some((follower, _)) = next {
                        next = follower.next(&mut t);
                    }
                }
            })
        }),
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(tiles) = y {
                    let (asker, (follower,)) = tiles.split(); // differs
                    let mut next = Some(follower.own());
                    asker.ask(&mut t);
                    while let Some((follower, _)) = next {
                        next = follower.next(&mut t);
                    }
                }
            })
        }),
    ));
    loop {}
}

/// Wrong: two warps send.
#[baton::kernel(threads = 64)]
pub fn mailbox_by_rank(cta: Cta<'_, NoShared, 64>, mail: Mailbox<u32, 0, 1>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(mail), None) } else { (None, Some(mail)) };
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let Some(mail) = x
                && let End::Sender(outbox) = mail.end(&mut me) // meets
            {
                outbox.fill(&mut me, |i| i as u32).send(&mut me)
            }
        }),
        warp(move |mut me| {
            if let Some(mail) = y
                && let End::Sender(outbox) = mail.end(&mut me) // differs
            {
                outbox.fill(&mut me, |i| i as u32).send(&mut me)
            }
        }),
    ));
    joined.exit(())
}

/// Two mailboxes, one for each warp.
#[baton::kernel(threads = 64)]
pub fn two_mailboxes(
    cta: Cta<'_, NoShared, 64>,
    first: Mailbox<u32, 0, 1>,
    second: Mailbox<u32, 0, 1>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let End::Sender(outbox) = first.end(&mut me) {
                outbox.fill(&mut me, |i| i as u32).send(&mut me)
            }
        }),
        warp(move |mut me| {
            if let End::Sender(outbox) = second.end(&mut me) {
                outbox.fill(&mut me, |i| i as u32).send(&mut me)
            }
        }),
    ));
    joined.exit(())
}

/// Wrong: two warps are one side.
#[baton::kernel(threads = 64)]
pub fn side_by_rank(cta: Cta<'_, NoShared, 64>, totals: Dekker<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(totals), None) } else { (None, Some(totals)) };
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let Some(totals) = x
                && let Some(mut side) = totals.side(&mut me) // meets
                && let Some(held) = side.announce(&mut me).fence_sc::<Gpu, _>(&mut me).look(&mut me)
            {
                held.update(&mut me, |_, old| old + 1).release(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(totals) = y
                && let Some(mut side) = totals.side(&mut me) // differs
                && let Some(held) = side.announce(&mut me).fence_sc::<Gpu, _>(&mut me).look(&mut me)
            {
                held.update(&mut me, |_, old| old + 1).release(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// Wrong: two warps take the CTA's turn.
#[baton::kernel(threads = 64)]
pub fn turn_by_rank(cta: Cta<'_, NoShared, 64>, tiles: Semaphore<f32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(tiles), None) } else { (None, Some(tiles)) };
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let Some(tiles) = x {
                let tile = tiles.take_turn(&mut me); // meets
                tile.fill(&mut me, |_| 1.0).release(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(tiles) = y {
                let tile = tiles.take_turn(&mut me); // differs
                tile.fill(&mut me, |_| 2.0).release(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// Wrong: two warps write the CTA's part.
#[baton::kernel(threads = 64)]
pub fn contribution_by_rank(cta: Cta<'_, NoShared, 64>, parts: LastArrival<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(parts), None) } else { (None, Some(parts)) };
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            if let Some(parts) = x {
                let part = parts.open(&mut me); // meets
                part.fill(&mut me, |i| i as u32).arrive::<AcqRel, _>(&mut me).last(&mut me);
            }
        }),
        warp(move |mut me| {
            if let Some(parts) = y {
                let part = parts.open(&mut me); // differs
                part.fill(&mut me, |i| i as u32).arrive::<AcqRel, _>(&mut me).last(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// Wrong: two threads edit one map.
#[baton::kernel(threads = 64)]
pub fn map_by_rank(
    cta: Cta<'_, NoShared, 64>,
    template: TensorMap<C>,
    places: GlobalPtr<u64, TheMaps>,
    matrices: ReadOnly<f32>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (x, y) = if cta.rank() < 32 { (Some(places), None) } else { (None, Some(places)) };
    let (joined, _) = cta.roles((
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(places) = x {
                    let map = EditedMap::open(&mut t, places, template); // meets
                    map.point_at(&mut t, matrices, 0, 32, 32).fence_release(&mut t);
                }
            })
        }),
        warp(move |me| {
            me.elect(move |mut t| {
                if let Some(places) = y {
                    let map = EditedMap::open(&mut t, places, template); // differs
                    map.point_at(&mut t, matrices, 1024, 32, 32).fence_release(&mut t);
                }
            })
        }),
    ));
    joined.exit(())
}
