//! One kernel for each protocol between CTAs. Every one of them says in its signature by which words its CTAs
//! synchronise and what those words guard; there is nothing to claim, and nothing is `unsafe`.
#![no_std]

use baton::held::Held;
use baton::path::Synced;
use baton::prelude::*;
use baton::protocol::{
    GridExchange, LastArrival, Once, Queue, Semaphore, SeqLock, SpinLock, TicketLock,
};
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
fn all_alike<C: Set, P>(array: &Held<u32, C, Synced, P>) {
    for i in 1..array.len() {
        baton::assert!(array.get(i) == array.get(0));
    }
}

/// Every CTA adds one to every element, `rounds` times, the whole CTA together.
#[baton::kernel(threads = 64)]
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
#[baton::kernel(threads = 64)]
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

/// The CTAs along z change their tile one after the other.
#[baton::kernel(threads = 64)]
pub fn turns(cta: Cta<'_, NoShared, THREADS>, tiles: Semaphore<u32>) -> Exit<'_> {
    let mut cta = cta;
    let z = cta.index().z;
    let tile = tiles.take_turn(&mut cta);
    baton::assert!(tile.turn() == z);
    tile.update(&mut cta, |_, old| turn(old, z)).release(&mut cta);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The last CTA to arrive copies what all of them wrote, each thread its elements of the output.
#[baton::kernel(threads = 64)]
pub fn last(
    cta: Cta<'_, NoShared, THREADS>,
    parts: LastArrival<u32>,
    output: LastArrival<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let part = parts.open(&mut cta).fill(&mut cta, entry);
    let arrival = part.arrive::<Release, _>(&mut cta).fence_acquire::<Gpu, _>(&mut cta);
    // Who was not the last leaves zeroes in its part of the output.
    let sum = match arrival.last(&mut cta) {
        Some(all) => (0..all.len()).fold(0, |sum: u32, i| sum.wrapping_add(all.get(i))),
        None => 0,
    };
    let out = output.open(&mut cta).fill(&mut cta, |_| sum);
    // A second round, in which one thread's `atom` does both.
    if let Some(all) = out.arrive::<AcqRel, _>(&mut cta).last(&mut cta) {
        let mut found = 0;
        for i in 0..all.len() {
            found += u32::from(all.get(i) != 0);
        }
        baton::assert!(found as u64 * cta.grid().ctas() == all.len());
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The first CTA computes a table, and all copy it, each thread its elements of the output.
#[baton::kernel(threads = 64)]
pub fn once(cta: Cta<'_, NoShared, THREADS>, table: Once<u32>, output: GlobalPtr<u32>) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = output.partition(&cta);
    let table = table.get_or_fill(&mut cta, entry);
    for k in 0..mine.len() {
        mine.put(k, table.get(mine.index(k) % table.len()));
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Each element becomes a mixture of its neighbours, `steps` times.
#[baton::kernel(threads = 64)]
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
#[baton::kernel(threads = 64)]
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

/// One warp of each CTA sends the numbers of the CTA's part of `0 .. count · CTAs`, the other receives as many, and
/// writes each where it belongs.
#[baton::kernel(threads = 64)]
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
                    let times = seen.load(&mut t, number);
                    seen.store(&mut t, number, times + 1);
                    seen.release(&mut t);
                }
            })
        }),
    ));
    joined.exit(())
}
