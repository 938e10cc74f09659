//! Rings, exchanges and locks: their steps hold barriers.

use baton::global::TheWarp;
use baton::prelude::*;
use baton::protocol::{LastArrival, SpinLock};
use baton::sem::AcqRel;

baton::shared! {
    pub struct Words in words_of { words: Exchange<u32, 64> }
}
baton::shared! {
    pub struct Ring in ring_of { words: Stages<2, Linear<u32, 32>, ByThreads, ByThreads> }
}

/// Wrong: a test of the region answers each thread for itself, and one arm has a barrier.
#[baton::kernel(threads = 64)]
pub fn arms_of_a_test(cta: Cta<'_, Words, 64>, out: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let (mut cta, words_of::Parts { words, .. }) = cta.claim();
    let asked = words.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta).try_wait(&mut cta); // differs
    let region = match asked.completed() {
        Ok(region) => {
            cta.barrier(); // meets
            region
        }
        Err(arrived) => arrived.wait(&mut cta),
    };
    mine.put(0, region.get(5));
    region.close(&mut cta);
    cta.join().exit(())
}

/// Tests without a barrier, then a count that all read in the region.
#[baton::kernel(threads = 64)]
pub fn tests_alone(cta: Cta<'_, Words, 64>, out: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let (mut cta, words_of::Parts { words, .. }) = cta.claim();
    let mut asked = words.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta);
    let region = loop {
        match asked.try_wait(&mut cta).completed() {
            Ok(region) => break region,
            Err(arrived) => asked = arrived,
        }
    };
    mine.put(0, region.get(5));
    cta.barrier();
    for _ in 0..region.get(7) {
        cta.barrier()
    }
    region.close(&mut cta);
    cta.join().exit(())
}

/// Wrong: half of the warp fills the stages.
#[baton::kernel(threads = 64)]
pub fn half_fills(cta: Cta<'_, Ring, 64>, n: u32, out: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            for _ in 0..n {
                if me.lane() < 16 { // branch
                    filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me); // meets
                }
            }
        }),
        warp(move |mut me| {
            let mut mine = out.partition(&me);
            for _ in 0..n {
                let stage = draining.wait(&mut me);
                mine.put(0, stage.get(0));
                stage.release(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// Wrong: the consumer takes a stage for each of the lane's own places.
#[baton::kernel(threads = 64)]
pub fn a_stage_for_each_own_place(
    cta: Cta<'_, Ring, 64>,
    n: u32,
    out: GlobalPtr<u32, TheWarp<1>>,
) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            for _ in 0..n {
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
            }
        }),
        warp(move |mut me| {
            for mut place in out.partition(&me) {
                let stage = draining.wait(&mut me);
                place.put(stage.get(0));
                stage.release(&mut me); // meets
            }
        }),
    ));
    joined.exit(())
}

/// A word of the stage that all read says whether another follows.
#[baton::kernel(threads = 64)]
pub fn the_stage_says(cta: Cta<'_, Ring, 64>, n: u32, out: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            for i in 0..n {
                filling.acquire(&mut me).fill(&mut me, |_| n - i - 1).publish(&mut me);
            }
        }),
        warp(move |mut me| {
            let mut mine = out.partition(&me);
            let (mut more, mut sum) = (n > 0, 0);
            while more {
                let stage = draining.wait(&mut me);
                more = stage.get(3) != 0;
                sum += stage.get(me.lane());
                stage.release(&mut me);
            }
            mine.put(0, sum)
        }),
    ));
    joined.exit(())
}

/// Wrong: each lane asks a word of its own whether another follows.
#[baton::kernel(threads = 64)]
pub fn the_own_word_says(cta: Cta<'_, Ring, 64>, n: u32, out: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            for i in 0..n {
                filling.acquire(&mut me).fill(&mut me, |_| n - i - 1).publish(&mut me);
            }
        }),
        warp(move |mut me| {
            let mut mine = out.partition(&me);
            let (mut more, mut sum) = (n > 0, 0);
            while more {
                let stage = draining.wait(&mut me);
                more = stage.get(me.lane()) != 0;
                sum += stage.get(3);
                stage.release(&mut me); // meets
            }
            mine.put(0, sum)
        }),
    ));
    joined.exit(())
}

/// Wrong: a lock is taken as often as the rank says.
#[baton::kernel(threads = 64)]
pub fn locked_by_rank(cta: Cta<'_, NoShared, 64>, totals: SpinLock<u32>) -> Exit<'_> {
    let mut me = cta;
    for _ in 0..me.rank() % 3 {
        let held = totals.lock(&mut me); // meets
        held.update(&mut me, |_, n| n + 1).release(&mut me)
    }
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// Who is last, the whole CTA knows.
#[baton::kernel(threads = 64)]
pub fn the_last_cta(cta: Cta<'_, NoShared, 64>, parts: LastArrival<u32>, out: GlobalPtr<u32>) -> Exit<'_> {
    let mut me = cta;
    let mut mine = out.partition(&me);
    let part = parts.open(&mut me).fill(&mut me, |i| i as u32);
    if let Some(all) = part.arrive::<AcqRel, _>(&mut me).last(&mut me) {
        mine.put(0, all.get(3));
        me.barrier();
        for _ in 0..all.get(0) {
            me.barrier()
        }
    }
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// Wrong: half of the warp hands one stage back first, the other half the other.
#[baton::kernel(threads = 64)]
pub fn stages_swapped(cta: Cta<'_, Ring, 64>, n: u32, out: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
    let (cta, ring_of::Parts { words, .. }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            for _ in 0..n {
                filling.acquire(&mut me).fill(&mut me, |k| k).publish(&mut me);
            }
        }),
        warp(move |mut me| {
            let mut mine = out.partition(&me);
            for _ in 0..n {
                let early = draining.wait(&mut me);
                let late = draining.wait(&mut me);
                let (first, second) = if me.lane() < 16 { (early, late) } else { (late, early) };
                first.release(&mut me); // meets
                mine.put(0, second.get(3));
                second.release(&mut me);
            }
        }),
    ));
    joined.exit(())
}

/// Wrong: each half of the warp locks another array.
#[baton::kernel(threads = 64)]
pub fn lock_chosen(cta: Cta<'_, NoShared, 64>, left: SpinLock<u32>, right: SpinLock<u32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let chosen = if me.lane() < 16 { left } else { right };
            chosen.lock(&mut me).update(&mut me, |_, n| n + 1).release(&mut me) // meets
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}

/// The host chooses the lock.
#[baton::kernel(threads = 64)]
pub fn lock_by_parameter(
    cta: Cta<'_, NoShared, 64>,
    n: u32,
    left: SpinLock<u32>,
    right: SpinLock<u32>,
) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((
        warp(move |mut me| {
            let chosen = if n == 0 { left } else { right };
            chosen.lock(&mut me).update(&mut me, |_, n| n + 1).release(&mut me)
        }),
        warp(move |_idle| {}),
    ));
    joined.exit(())
}
