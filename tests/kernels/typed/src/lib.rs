//! Kernels on parts of the library that no example needs: what they become in PTX is looked at, and some of them run.
#![no_std]

pub mod several;
pub mod stores;

use baton::alias::Aliases;
use baton::cluster::PeerExchange;
use baton::edited_map::EditedMap;
use baton::global::{TheMaps, TheWarpgroup};
use baton::multicast::Multicast;
use baton::pair::Pair;
use baton::pair_accumulator::PairAccs;
use baton::prelude::*;
use baton::protocol::{Dekker, Once, Queue, SpinLock};
use baton::relay::Relay;
use baton::sem::{Acquire, Relaxed, Release};
use baton::stages::ByPairMma;

/// Through the read-only cache, and four words at once.
#[baton::kernel(threads = 32)]
pub fn reads(
    cta: Cta<'_, NoShared, 32>,
    input: ReadOnly<u32>,
    words: GlobalPtr<u32>,
    output: GlobalPtr<u32>,
) -> Exit<'_> {
    // SAFETY: (1) read here alone, by strong loads at gpu scope; (2) any value will do.
    let words = unsafe { words.atomics::<Gpu, _, 32>(&cta) };
    let mut mine = output.partition(&cta);
    let [.., last] = words.load_v4::<Acquire>(4).elements();
    mine.put(0, input.get_nc(mine.index(0)).wrapping_mul(last.value()));
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// One array under two addresses.
#[baton::kernel(threads = 64)]
pub fn aliases(
    cta: Cta<'_, NoShared, 64>,
    first: GlobalPtr<u32>,
    second: GlobalPtr<u32>,
    output: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = output.partition(&cta);
    // SAFETY: (1) the test passes one array twice; (2) one CTA, here alone.
    let array = unsafe { Aliases::claim(&mut cta, first, second) };
    let array = array.fill(&mut cta, |i| 3 * i as u32).fence_proxy_alias(&mut cta).sync(&mut cta);
    let opposite = array.len() - 1 - mine.index(0);
    mine.put(0, array.get(opposite));
    let _again = array.reopen(&mut cta).fill(&mut cta, |i| i as u32);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Words of several devices.
#[baton::kernel(threads = 32)]
pub fn multimem(cta: Cta<'_, NoShared, 32>, address: u64, output: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    // SAFETY: the test passes four words of one device, which the emulator reaches by `multimem` too; one CTA, here alone.
    let words: Multicast<'_, u32, Sys> = unsafe { Multicast::claim(&cta, address, 4) };
    words.store::<Release>(0, 1);
    words.red_add::<Relaxed>(1, 2);
    mine.put(0, words.load_reduce_add::<Acquire>(2) + words.load_reduce_max::<Relaxed>(3));
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// What the edited map loads.
pub type Matrix = Tile<f32, 64, 32>;

baton::shared! {
    /// Of `edits`.
    pub struct Group in group { tiles: Stages<2, Matrix, ByBulk, ByThreads> }
}

/// The first tile of each of `count` matrices of 64 × 32 that follow each other in `matrices`.
#[baton::kernel(threads = 64)]
pub fn edits(
    cta: Cta<'_, Group, 64>,
    template: TensorMap<Matrix>,
    places: GlobalPtr<u64, TheMaps>,
    matrices: ReadOnly<f32>,
    output: GlobalPtr<f32, baton::global::TheWarp<1>>,
    count: u32,
) -> Exit<'_> {
    let (cta, group::Parts { tiles, .. }) = cta.claim();
    let (mut loads, mut stages) = tiles.split();
    let (joined, (loaded, ())) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                let mut map = EditedMap::open(&mut t, places, template);
                for i in 0..count {
                    let ready = map
                        .point_at(&mut t, matrices, i as u64 * 2048, 64, 32)
                        .fence_release(&mut t)
                        .fence_acquire(&mut t);
                    let stage = loads.acquire(&mut t);
                    let used = ready.load(&mut t, stage, 0, 0);
                    map = used.wait_loads(&mut t, &mut loads).editable();
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |mut w| {
            let mut mine = output.partition(&w);
            let mut sum = 0.0;
            for _ in 0..count {
                let stage = stages.wait(&mut w);
                sum += stage.get(w.rank());
                stage.fence_proxy_async(&mut w).release(&mut w);
            }
            mine.put(0, sum);
        }),
    ));
    joined.exit((loaded,))
}

baton::shared! {
    /// Of `pairs`.
    pub struct Shared in shared { tensor: Pair<256> }
}

/// Allocates the tensor memory of a pair, and gives it back.
#[baton::kernel(threads = 128, cluster = 2)]
pub fn pairs(cta: Cta<'_, Shared, 128>, output: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let (cta, shared::Parts { tensor, .. }) = cta.claim();
    mine.put(0, tensor.columns());
    let mut joined = cta.join().join_peers();
    let closed = tensor.dealloc(&mut joined);
    joined.exit((closed,))
}

/// The operands of `rescale`.
pub type A = Tile<bf16, 128, 64>;
/// Sixteen columns of the product.
pub type B = Tile<bf16, 16, 64>;

baton::shared! {
    /// Of `rescale`.
    pub struct Operands in operands { ab: Stages<1, (A, B), ByThreads, ByMma>, acc: Accs<1, 128, 16> }
}

/// Multiplies, has the product halved in tensor memory, and adds a second product to that. A is `row % 5`, B is 1, so that
/// the products are 64 · (row % 5) in every column.
#[baton::kernel(threads = 192)]
pub fn rescale(
    cta: Cta<'_, Operands, 192>,
    output: GlobalPtr<f32, baton::global::TheWarpgroup<0>>,
) -> Exit<'_> {
    let (cta, operands::Parts { ab, acc, .. }) = cta.claim();
    let (mut filling, mut stages) = ab.split();
    let (mut issuing, mut draining, tensor) = acc.split();
    let (mut joined, (drained, (), issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg);
            let acc = draining.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let (acc, row) = acc.ld::<16>(&mut wg, 0).wait_ld(&mut wg);
            let acc = acc.st(&mut wg, 0, row.map(|value| value / 2.0)).wait_st(&mut wg);
            acc.fence_before_thread_sync(&mut wg).release(&mut wg);
            let acc = draining.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let (acc, row) = acc.ld::<16>(&mut wg, 0).wait_ld(&mut wg);
            acc.fence_before_thread_sync(&mut wg).release(&mut wg);
            let mut sum = 0.0;
            for value in row {
                sum += value;
            }
            mine.put(0, sum);
            draining.finish(&mut wg)
        }),
        warp(move |mut w| {
            for _ in 0..2 {
                let value = |i: u32| {
                    let row = if i < 128 * 64 { i / 64 % 5 } else { 1 };
                    bf16::from_f32(row as f32)
                };
                let stage = filling.acquire(&mut w).fill(&mut w, value);
                stage.fence_proxy_async(&mut w).publish(&mut w);
            }
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut acc = issuing.acquire(&mut t);
                let stage = stages.wait(&mut t);
                acc.mma(&mut t, stage).release_by_commit(&mut t);
                acc.commit(&mut t);
                let mut acc = issuing.acquire(&mut t).keep();
                let stage = stages.wait(&mut t);
                acc.mma(&mut t, stage).release_by_commit(&mut t);
                acc.commit(&mut t);
                issuing.finish(&mut t)
            })
        }),
    ));
    let closed = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((closed,))
}

/// Two sides that forget what they hold, and withdraw when they look again: what they wrote is handed on all the same. The
/// parameter has the name of an item that the attribute writes.
#[baton::kernel(threads = 128)]
pub fn forgets(cta: Cta<'_, NoShared, 128>, totals: Dekker<u32>, bytes: u32) -> Exit<'_> {
    let mut cta = cta;
    if let Some(mut side) = totals.side(&mut cta) {
        for _ in 0..bytes {
            let announced = side.announce(&mut cta).fence_sc::<Gpu, _>(&mut cta);
            if let Some(held) = announced.look(&mut cta) {
                core::mem::forget(held.fill(&mut cta, |i| i as u32));
            }
        }
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// A joined CTA asks for what its roles still hold.
#[baton::kernel(threads = 64)]
pub fn early(
    cta: Cta<'_, NoShared, 64>,
    count: SpinLock<u32>,
    table: Once<u32>,
    output: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let (cta, ()) = cta.claim();
    let (mut joined, _) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| count.lock(&mut t).update(&mut t, |_, n| n + 1).release(&mut t))
        }),
        warp(move |w| {
            w.elect(move |mut t| count.lock(&mut t).update(&mut t, |_, n| n + 1).release(&mut t))
        }),
    ));
    count.lock(&mut joined).update(&mut joined, |_, n| n + 1).release(&mut joined);
    let table = table.get_or_fill(&mut joined, |i| 5 * i as u32);
    mine.put(0, table.get(mine.index(0)));
    joined.exit(())
}

/// A queue of whatever length its array has.
#[baton::kernel(threads = 32)]
pub fn pushes(cta: Cta<'_, NoShared, 32>, numbers: Queue<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((warp(move |w| {
        w.elect(move |mut t| {
            baton::assert!(numbers.push(&mut t, 7));
            baton::assert!(numbers.push(&mut t, 8));
            baton::assert!(!numbers.push(&mut t, 9));
            baton::assert!(numbers.pop(&mut t) == Some(7));
        })
    }),));
    joined.exit(())
}

type Operand = Tile<bf16, 128, 64>;

baton::shared! {
    /// Of a product whose second operand the CTAs of a cluster load for each other.
    pub struct Together in together {
        ab: Stages<2, (Operand, ToAll<Operand, 2>), ByBulk, ByMma>,
        acc: Accs<1, 128, 128>,
    }
}

/// Each CTA of a pair multiplies its `a` with the `b` of both, and writes a column of the sum.
#[baton::kernel(threads = 192, cluster = 2)]
pub fn shared_operand(
    cta: Cta<'_, Together, 192>,
    a: TensorMap<Operand>,
    b: TensorMap<Tile<bf16, 64, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    steps: u32,
) -> Exit<'_> {
    let row = (cta.index().x * 128) as i32;
    let (cta, together::Parts { ab, acc, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut sums, mut results, tensor) = acc.split();
    let (mut joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg);
            let sum = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let (sum, [value]) = sum.ld::<1>(&mut wg, 100).wait_ld(&mut wg);
            mine.put(0, value);
            sum.fence_before_thread_sync(&mut wg).release(&mut wg);
            results.finish(&mut wg)
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
    /// What the CTAs of a pair read of each other.
    pub struct Halves in halves { numbers: PeerExchange<u32, 32, 2> }
}

/// The CTAs of each cluster exchange their numbers, the one of rank `r` as often as `rounds` plus `r` times `more` says.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn unequal(
    cta: Cta<'_, Halves, 32>,
    output: GlobalPtr<u32>,
    rounds: u32,
    more: u32,
) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let rank = cta.cluster_rank().0;
    let (mut cta, halves::Parts { numbers, .. }) = cta.claim();
    let me = cta.rank();
    let mut number = 1 + rank;
    let mut region = numbers.open(&mut cta);
    for _ in 0..rounds + rank * more {
        let full = region.fill(&mut cta, |_| number).arrive(&mut cta).wait(&mut cta);
        number += 2 * full.get(1 - rank, me);
        region = full.reopen(&mut cta);
    }
    mine.put(0, number);
    let closed = region.close(&mut cta);
    cta.join().exit((closed,))
}

/// Columns of a pair's accumulator.
pub const PAIR_COLS: usize = 64;

baton::shared! {
    /// Half of the operands of a pair's products, and half of the products.
    pub struct Product in product {
        ab: Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 32, 64>), ByBulk, ByPairMma>,
        acc: PairAccs<2, PAIR_COLS>,
    }
}

/// The pair computes tiles of 256 × 64 of A · Bᵀ, `steps` times 64 columns of K; each thread of the epilogue writes its row.
#[baton::kernel(threads = 192, cluster = 2)]
pub fn pair_product(
    cta: Cta<'_, Product, 192>,
    a: TensorMap<Tile<bf16, 128, 64>>,
    b: TensorMap<Tile<bf16, 32, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    tiles: u32,
    steps: u32,
) -> Exit<'_> {
    let rank = cta.cluster_rank().0 as i32;
    let leader = cta.pair_leader();
    let (cta, product::Parts { ab, acc, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, tensor) = acc.split();
    let (joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg).into_iter();
            for _ in 0..tiles {
                let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                for col in (0..PAIR_COLS as u32).step_by(16) {
                    let (next, values) = acc.ld::<16>(&mut wg, col).wait_ld(&mut wg);
                    for (value, mut place) in values.into_iter().zip(mine.by_ref()) {
                        place.put(value);
                    }
                    acc = next;
                }
                acc.fence_before_thread_sync(&mut wg).release(&mut wg);
            }
            results.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut tile = 0;
                while tile < tiles {
                    let row = 256 * tile as i32 + 128 * rank;
                    let mut step = 0;
                    while step < steps {
                        let k = 64 * step as i32;
                        loads.acquire(&mut t).load(&mut t, (a.at(row, k), b.at(32 * rank, k)));
                        step += 1;
                    }
                    tile += 1;
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                if let Some(leader) = leader {
                    for _ in 0..tiles {
                        let mut acc = accumulators.acquire(&mut t, leader);
                        let mut step = 0;
                        while step < steps {
                            let stage = stages.wait_for_both(&mut t, leader);
                            acc.mma(&mut t, stage).release_by_commit(&mut t);
                            step += 1;
                        }
                        acc.commit(&mut t);
                    }
                }
                accumulators.finish(&mut t)
            })
        }),
    ));
    let mut joined = joined.join_peers();
    let deallocated = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, deallocated))
}

/// The same, but of each tile it leaves out the first `skip` steps, whose operands it loads.
#[baton::kernel(threads = 192, cluster = 2)]
pub fn pair_skips(
    cta: Cta<'_, Product, 192>,
    a: TensorMap<Tile<bf16, 128, 64>>,
    b: TensorMap<Tile<bf16, 32, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    tiles: u32,
    steps: u32,
    skip: u32,
) -> Exit<'_> {
    let rank = cta.cluster_rank().0 as i32;
    let leader = cta.pair_leader();
    let (cta, product::Parts { ab, acc, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, tensor) = acc.split();
    let (joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg).into_iter();
            for _ in 0..tiles {
                let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                for col in (0..PAIR_COLS as u32).step_by(16) {
                    let (next, values) = acc.ld::<16>(&mut wg, col).wait_ld(&mut wg);
                    for (value, mut place) in values.into_iter().zip(mine.by_ref()) {
                        place.put(value);
                    }
                    acc = next;
                }
                acc.fence_before_thread_sync(&mut wg).release(&mut wg);
            }
            results.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut tile = 0;
                while tile < tiles {
                    let row = 256 * tile as i32 + 128 * rank;
                    let mut step = 0;
                    while step < steps {
                        let k = 64 * step as i32;
                        loads.acquire(&mut t).load(&mut t, (a.at(row, k), b.at(32 * rank, k)));
                        step += 1;
                    }
                    tile += 1;
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                if let Some(leader) = leader {
                    for _ in 0..tiles {
                        let mut acc = accumulators.acquire(&mut t, leader);
                        for _ in 0..skip {
                            stages.wait_for_both(&mut t, leader).release(&mut t);
                        }
                        let mut step = skip;
                        while step < steps {
                            let stage = stages.wait_for_both(&mut t, leader);
                            acc.mma(&mut t, stage).release_by_commit(&mut t);
                            step += 1;
                        }
                        acc.commit(&mut t);
                    }
                }
                accumulators.finish(&mut t)
            })
        }),
    ));
    let mut joined = joined.join_peers();
    let deallocated = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, deallocated))
}

baton::shared! {
    /// Of two pairs that have the second operand in common: each CTA loads half of its part for itself and for the other pair's.
    pub struct FourProduct in four {
        ab: Stages<2, (Tile<bf16, 128, 64>, ToAll<Tile<bf16, 32, 64>, 2>), ByBulk, ByPairMma>,
        acc: PairAccs<2, PAIR_COLS, 4>,
    }
}

/// As `pair_product`, of two pairs in a cluster: tiles of 512 × 64.
#[baton::kernel(threads = 192, cluster = 4)]
pub fn two_pairs(
    cta: Cta<'_, FourProduct, 192>,
    a: TensorMap<Tile<bf16, 128, 64>>,
    b: TensorMap<Tile<bf16, 16, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    tiles: u32,
    steps: u32,
) -> Exit<'_> {
    let rank = cta.cluster_rank().0 as i32;
    let leader = cta.pair_leader();
    let (cta, four::Parts { ab, acc, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, tensor) = acc.split();
    let (joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg).into_iter();
            for _ in 0..tiles {
                let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                for col in (0..PAIR_COLS as u32).step_by(16) {
                    let (next, values) = acc.ld::<16>(&mut wg, col).wait_ld(&mut wg);
                    for (value, mut place) in values.into_iter().zip(mine.by_ref()) {
                        place.put(value);
                    }
                    acc = next;
                }
                acc.fence_before_thread_sync(&mut wg).release(&mut wg);
            }
            results.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut tile = 0;
                while tile < tiles {
                    let row = 512 * tile as i32 + 128 * rank;
                    let mut step = 0;
                    while step < steps {
                        let k = 64 * step as i32;
                        let from = (a.at(row, k), b.at(32 * (rank % 2), k));
                        loads.acquire(&mut t).load(&mut t, from);
                        step += 1;
                    }
                    tile += 1;
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                if let Some(leader) = leader {
                    for _ in 0..tiles {
                        let mut acc = accumulators.acquire(&mut t, leader);
                        let mut step = 0;
                        while step < steps {
                            let stage = stages.wait_for_both(&mut t, leader);
                            acc.mma(&mut t, stage).release_by_commit(&mut t);
                            step += 1;
                        }
                        acc.commit(&mut t);
                    }
                }
                accumulators.finish(&mut t)
            })
        }),
    ));
    let mut joined = joined.join_peers();
    let deallocated = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, deallocated))
}

baton::shared! {
    /// One stage of three bytes, which one thread of the CTA pushes.
    pub struct Few in few { values: Relay<1, u8, 3, 2> }
}

/// The CTAs of a cluster hand on fewer elements than there are threads, round after round.
#[baton::kernel(threads = 64, cluster = 2)]
pub fn few_elements(cta: Cta<'_, Few, 64>, output: GlobalPtr<u32>, rounds: u32) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let (mut cta, few::Parts { values, .. }) = cta.claim();
    let (mut giving, mut taking) = values.split();
    let mut sum = 0;
    for round in 0..rounds {
        let stage = giving.acquire(&mut cta).fill(&mut cta, |i| (round + i) as u8);
        stage.publish::<Cluster, _>(&mut cta);
        let stage = taking.wait::<Cluster, _>(&mut cta);
        sum += stage.get(2) as u32;
        stage.release::<Cluster, _>(&mut cta);
    }
    mine.put(0, sum);
    let passed = giving.finish(&mut cta);
    cta.join().exit((passed,))
}
