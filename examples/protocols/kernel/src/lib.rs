//! One kernel for each protocol between CTAs. Every one of them says in its signature by which words its CTAs
//! synchronise and what those words guard; there is nothing to claim, and nothing is `unsafe`. The last ones are about
//! CTAs of a cluster, and about copies that threads begin.
#![no_std]

use baton::cluster::PeerExchange;
use baton::global::TheWarp;
use baton::held::Held;
use baton::index::ClusterRank;
use baton::path::{FillCompleted, VisibleToTheSet};
use baton::prelude::*;
use baton::protocol::{
    Dekker, GridExchange, LastArrival, Once, Queue, RwLock, Semaphore, SeqLock, SpinLock,
    TicketLock,
};
use baton::relay::Relay;
use baton::sem::{AcqRel, Release};

/// Threads of a CTA.
pub const THREADS: u32 = 64;

/// What a number becomes when CTA `z` has had it: in another order, another number.
pub const fn turn(number: u32, z: u32) -> u32 {
    number.wrapping_mul(3).wrapping_add(z)
}

/// Element `i` of the table that the first CTA computes.
pub const fn entry(i: u64) -> u32 {
    (i as u32 + 1).wrapping_mul(0x9e37_79b9)
}

/// What an element becomes in a step on the grid, from itself and its neighbours.
pub const fn cell(left: u32, own: u32, right: u32) -> u32 {
    left.wrapping_mul(5).wrapping_add(own) ^ right
}

/// The second of the two numbers that are always written together.
pub const fn shadow(number: u32) -> u32 {
    !number.wrapping_mul(7)
}

/// Stops the kernel unless all elements are the same: nobody came between.
#[inline(always)]
fn all_alike<C: Set, State: FillCompleted + VisibleToTheSet, P>(array: &Held<u32, C, State, P>) {
    for i in 1..array.len() {
        baton::assert!(array.get(i) == array.get(0));
    }
}

/// Every CTA adds one to every element, `rounds` times, the whole CTA together.
#[baton::kernel(threads = 64, no_stack)]
pub fn spin(cta: Cta<'_, NoShared, THREADS>, totals: SpinLock<u32>, rounds: u32) -> Exit<'_> {
    let mut cta = cta;
    for _ in 0..rounds {
        let held = totals.lock(&mut cta).update(&mut cta, |_, old| old + 1).sync(&mut cta);
        all_alike(&held);
        held.release(&mut cta);
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Every warp and one thread of each CTA add one to every element, `rounds` times, in the order in which they asked.
#[baton::kernel(threads = 64, no_stack)]
pub fn tickets(cta: Cta<'_, NoShared, THREADS>, totals: TicketLock<u32>, rounds: u32) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut w| {
            for _ in 0..rounds {
                totals.lock(&mut w).update(&mut w, |_, old| old + 1).release(&mut w);
            }
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for _ in 0..rounds {
                    let mut held = totals.lock(&mut t);
                    for i in 0..held.len() {
                        let old = held.load(&mut t, i);
                        held.store(&mut t, i, old + 1);
                    }
                    held.release(&mut t);
                }
            })
        }),
    ));
    joined.exit(())
}

/// The first two CTAs add one to every element, `rounds` times each, and exclude each other by loads and stores alone.
#[baton::kernel(threads = 64, no_stack)]
pub fn sides(cta: Cta<'_, NoShared, THREADS>, totals: Dekker<u32>, rounds: u32) -> Exit<'_> {
    let mut cta = cta;
    if let Some(mut side) = totals.side(&mut cta) {
        let mut done = 0;
        while done < rounds {
            let announced = side.announce(&mut cta).fence_sc::<Gpu, _>(&mut cta);
            if let Some(held) = announced.look(&mut cta) {
                let held = held.update(&mut cta, |_, old| old + 1).sync(&mut cta);
                all_alike(&held);
                held.release(&mut cta);
                done += 1;
            }
        }
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Every CTA adds one to every element, `rounds` times, and one warp of each reads them as often, beside the others'.
#[baton::kernel(threads = 64, no_stack)]
pub fn readers(cta: Cta<'_, NoShared, THREADS>, totals: RwLock<u32>, rounds: u32) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut w| {
            for _ in 0..rounds {
                totals.write(&mut w).update(&mut w, |_, old| old + 1).release(&mut w);
            }
        }),
        warp(move |mut w| {
            for _ in 0..rounds {
                let held = totals.read(&mut w);
                all_alike(&held);
                held.release(&mut w);
            }
        }),
    ));
    joined.exit(())
}

/// The CTAs along z change their tile one after the other.
#[baton::kernel(threads = 64, no_stack)]
pub fn turns(cta: Cta<'_, NoShared, THREADS>, tiles: Semaphore<u32>) -> Exit<'_> {
    let mut cta = cta;
    let z = cta.index().z;
    let tile = tiles.take_turn(&mut cta);
    baton::assert!(tile.turn() == z);
    tile.update(&mut cta, |_, old| turn(old, z)).release(&mut cta);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The last CTA to arrive sums what all of them wrote, and fills its part of the output with it; the last to have done
/// that counts the elements of the output that are not zero.
#[baton::kernel(threads = 64, no_stack)]
pub fn last(
    cta: Cta<'_, NoShared, THREADS>,
    parts: LastArrival<u32>,
    output: LastArrival<u32>,
    counts: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = counts.partition(&cta);
    let part = parts.open(&mut cta).fill(&mut cta, entry);
    let arrival = part.arrive::<Release, _>(&mut cta).fence_acquire::<Gpu, _>(&mut cta);
    // Who was not the last leaves zeroes in its part of the output.
    let sum = match arrival.last(&mut cta) {
        Some(all) => (0..all.len()).fold(0, |sum: u32, i| sum.wrapping_add(all.get(i))),
        None => 0,
    };
    let out = output.open(&mut cta).fill(&mut cta, |_| sum);
    // The second time, one operation does both.
    if let Some(all) = out.arrive::<AcqRel, _>(&mut cta).last(&mut cta) {
        let mut count = 0;
        for i in 0..all.len() {
            count += u32::from(all.get(i) != 0);
        }
        mine.put(0, count);
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The first CTA to come computes a table, its own, and all copy it, each thread its elements of the output.
#[baton::kernel(threads = 64, no_stack)]
pub fn once(cta: Cta<'_, NoShared, THREADS>, table: Once<u32>, output: GlobalPtr<u32>) -> Exit<'_> {
    let mut cta = cta;
    let block = cta.index().x;
    let mine = output.partition(&cta);
    let table = table.get_or_fill(&mut cta, |i| entry(i).wrapping_add(block));
    for mut place in mine {
        place.put(table.get(place.index() % table.len()));
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Each element becomes a mixture of its neighbours, `steps` times.
#[baton::kernel(threads = 64, no_stack)]
pub fn grid(cta: Cta<'_, NoShared, THREADS>, cells: GridExchange<u32>, steps: u32) -> Exit<'_> {
    let mut cta = cta;
    let mut cells = cells.open(&mut cta);
    let end = cells.len();
    for _ in 0..steps {
        cells.step(&mut cta, |old, i| {
            let left = if i == 0 { end - 1 } else { i - 1 };
            let right = if i + 1 == end { 0 } else { i + 1 };
            cell(old.get(left), old.get(i), old.get(right))
        });
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// One warp of each CTA changes a pair of numbers `rounds` times, the other reads it as often: it never sees half of a
/// change.
#[baton::kernel(threads = 64, no_stack)]
pub fn pairs(cta: Cta<'_, NoShared, THREADS>, pair: SeqLock<u32>, rounds: u32) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                for _ in 0..rounds {
                    pair.update::<2, _>(&mut t, |[number, _]| [number + 1, shadow(number + 1)]);
                }
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut last = 0;
                for _ in 0..rounds {
                    let [number, second] = pair.read::<2, _>(&mut t);
                    // The host's zeroes, or a pair; and never an older one.
                    baton::assert!(second == if number == 0 { 0 } else { shadow(number) });
                    baton::assert!(number >= last);
                    last = number;
                }
            })
        }),
    ));
    joined.exit(())
}

/// One warp of each CTA sends the numbers of the CTA's part of `0 .. count · CTAs`, the other receives as many, counts each
/// where it belongs, and all of them behind the last.
#[baton::kernel(threads = 64, no_stack)]
pub fn queue(
    cta: Cta<'_, NoShared, THREADS>,
    numbers: Queue<u32>,
    seen: SpinLock<u32>,
    count: u32,
) -> Exit<'_> {
    let block = cta.index().x;
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                for i in 0..count {
                    while !numbers.push(&mut t, block * count + i) {}
                }
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for _ in 0..count {
                    let number = loop {
                        if let Some(number) = numbers.pop(&mut t) {
                            break number as u64;
                        }
                    };
                    let mut seen = seen.lock(&mut t);
                    let (times, all) = (seen.load(&mut t, number), seen.len() - 1);
                    seen.store(&mut t, number, times + 1);
                    let sum = seen.load(&mut t, all);
                    seen.store(&mut t, all, sum + 1);
                    seen.release(&mut t);
                }
            })
        }),
    ));
    joined.exit(())
}

baton::shared! {
    /// What peers of a cluster read of each other.
    pub struct Shared in shared { halves: PeerExchange<u32, { THREADS as usize }, PEERS> }
}

/// CTAs of a cluster.
pub const PEERS: u32 = 2;

/// The CTAs of each cluster exchange their numbers, `rounds` times: each thread takes the next CTA's number of the
/// thread that stands opposite, and stirs.
#[baton::kernel(threads = 64, no_stack, cluster = 2)]
pub fn peers(cta: Cta<'_, Shared, THREADS>, numbers: GlobalPtr<u32>, rounds: u32) -> Exit<'_> {
    let mut mine = numbers.partition(&cta);
    let ClusterRank(rank) = cta.cluster_rank();
    let (mut cta, shared::Parts { halves, .. }) = cta.claim();
    let me = cta.rank();
    let mut number = mine.get(0);
    let mut halves = halves.open(&mut cta);
    for round in 0..rounds {
        let written = halves.fill(&mut cta, |_| number);
        // Both ways to publish are the same to the peers.
        let arrived = if round % 2 == 0 {
            written.arrive(&mut cta)
        } else {
            written.fence_release::<Cluster, _>(&mut cta).arrive_relaxed(&mut cta)
        };
        let full = arrived.wait(&mut cta);
        number = turn(full.get((rank + 1) % PEERS, THREADS - 1 - me), me);
        halves = full.reopen(&mut cta);
    }
    mine.put(0, number);
    let closed = halves.close(&mut cta);
    cta.join().exit((closed,))
}

/// CTAs of a cluster that pass numbers on.
pub const RUNNERS: u32 = 4;

baton::shared! {
    /// What the CTA before writes into.
    pub struct Track in track { numbers: Relay<2, u32, { THREADS as usize }, RUNNERS> }
}

/// The CTAs of each cluster pass their numbers round, `rounds` times: each thread takes the number that the CTA before had of
/// the thread that stands opposite, and stirs.
#[baton::kernel(threads = 64, no_stack, cluster = 4)]
pub fn relay(cta: Cta<'_, Track, THREADS>, numbers: GlobalPtr<u32>, rounds: u32) -> Exit<'_> {
    let mut mine = numbers.partition(&cta);
    let (mut cta, track::Parts { numbers, .. }) = cta.claim();
    let (mut giving, mut taking) = numbers.split();
    let me = cta.rank();
    let mut number = mine.get(0);
    for _ in 0..rounds {
        giving.acquire(&mut cta).fill(&mut cta, |_| number).publish::<Cluster, _>(&mut cta);
        let stage = taking.wait::<Cluster, _>(&mut cta);
        number = turn(stage.get(THREADS - 1 - me), me);
        stage.release::<Cluster, _>(&mut cta);
    }
    mine.put(0, number);
    let passed = giving.finish(&mut cta);
    cta.join().exit((passed,))
}

/// What one CTA of a pair loads for both.
pub type Share = Tile<u32, 8, 32>;
/// What both have in the end.
pub type Whole = Tile<u32, 16, 32>;

baton::shared! {
    /// A ring that the CTAs of a cluster fill for each other.
    pub struct Air in air { tiles: Stages<2, ToAll<Whole, PEERS>, ByBulk, ByThreads> }
}

/// Both CTAs of each cluster read all tiles of `input`, each of them loading one half of every tile for both; every lane of
/// the reading warp stirs the column that it owns into a number, and writes that.
#[baton::kernel(threads = 64, no_stack, cluster = 2)]
pub fn broadcast(
    cta: Cta<'_, Air, THREADS>,
    input: TensorMap<Share>,
    output: GlobalPtr<u32, TheWarp<1>>,
    tiles: u32,
) -> Exit<'_> {
    let (cta, air::Parts { tiles: parts, .. }) = cta.claim();
    let (mut loads, mut stages) = parts.split();
    let (joined, (loaded, ())) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                for tile in 0..tiles as i32 {
                    loads.acquire(&mut t).load(&mut t, input.at(16 * tile, 0));
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |mut w| {
            let mut mine = output.partition(&w);
            let mut number = 0;
            for _ in 0..tiles {
                let stage = stages.wait(&mut w);
                for row in 0..16 {
                    number = turn(number, stage.get(32 * row + w.rank()));
                }
                stage.fence_proxy_async(&mut w).release(&mut w);
            }
            mine.put(0, number);
        }),
    ));
    joined.exit((loaded,))
}

/// Elements of a stage.
pub const STAGE: usize = 128;

baton::shared! {
    /// A ring that threads fill by asynchronous copies.
    pub struct Ring in ring { stages: Stages<2, Linear<u32, STAGE>, ByThreads, ByThreads> }
}

/// Copies `input` to `output` through shared memory, a stage at a time: one warp begins the asynchronous copies, waits
/// for them and hands the stage on, the other takes the numbers out and stirs. Elements behind the last whole stage are
/// left alone.
#[baton::kernel(threads = 64, no_stack)]
pub fn copies(
    cta: Cta<'_, Ring, THREADS>,
    input: ReadOnly<u32>,
    output: GlobalPtr<u32, TheWarp<1>>,
) -> Exit<'_> {
    let stages = input.len() / STAGE as u64;
    let (first, step) = (cta.index().x as u64, cta.grid().x as u64);
    let (cta, ring::Parts { stages: parts, .. }) = cta.claim();
    let (mut filling, mut draining) = parts.split();
    let (joined, _) = cta.roles((
        warp(move |mut w| {
            let mut stage = first;
            while stage < stages {
                let slot = filling.acquire(&mut w);
                let from = stage * STAGE as u64;
                let slot = slot.copy(&mut w, input, |i| from + i as u64);
                slot.wait_copies(&mut w).publish(&mut w);
                stage += step;
            }
        }),
        warp(move |mut w| {
            // Elements `32 c + lane`, `32 (c + ctas) + lane`, … of the output are this lane's.
            let mut mine = output.partition(&w).into_iter();
            let mut stage = first;
            while stage < stages {
                let slot = draining.wait(&mut w);
                for part in 0..STAGE as u32 / 32 {
                    if let Some(mut place) = mine.next() {
                        place.put(turn(slot.get(32 * part + w.rank()), part));
                    }
                }
                slot.release(&mut w);
                stage += step;
            }
        }),
    ));
    joined.exit(())
}
