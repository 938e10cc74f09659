//! Protocols between CTAs: rules A3 (a relaxed `atom`), A5 (a lock at cta scope), A8 (Dekker), A9 (turns).

use baton::prelude::*;
use baton::protocol::{Dekker, LastArrival, Semaphore, SpinLock};
use baton::sem::Release;

/// Each CTA adds one to what the lock guards.
#[baton::kernel(threads = 32)]
pub fn spin_lock(cta: Cta<'_, NoShared, 32>, total: SpinLock<u32>) -> Exit<'_> {
    let mut cta = cta;
    total.lock(&mut cta).update(&mut cta, |_, old| old + 1).release(&mut cta);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The CTAs along z add one, in turn.
#[baton::kernel(threads = 32)]
pub fn turns(cta: Cta<'_, NoShared, 32>, total: Semaphore<u32>) -> Exit<'_> {
    let mut cta = cta;
    total.take_turn(&mut cta).update(&mut cta, |_, old| old + 1).release(&mut cta);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Each CTA writes 1 to its part; if CTA 0 arrives last, it writes the sum of both, and one more.
#[baton::kernel(threads = 32)]
pub fn last_arrival(
    cta: Cta<'_, NoShared, 32>,
    parts: LastArrival<u32>,
    out: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = out.partition(&cta);
    let arrival = parts.open(&mut cta).fill(&mut cta, |_| 1).arrive::<Release, _>(&mut cta);
    if let Some(all) = arrival.fence_acquire::<Gpu, _>(&mut cta).last(&mut cta) {
        let sum = all.get(0) + all.get(1);
        if !mine.is_empty() {
            mine.put(0, sum + 1);
        }
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// CTA 0 adds one to what is guarded, CTA 1 adds two, each only if it finds the other's flag down. CTA 0 writes what it
/// found, and one more.
#[baton::kernel(threads = 32)]
pub fn dekker(
    cta: Cta<'_, NoShared, 32>,
    total: Dekker<u32>,
    out: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = out.partition(&cta);
    let more = cta.index().x + 1;
    if let Some(mut side) = total.side(&mut cta) {
        let announced = side.announce(&mut cta).fence_sc::<Gpu, _>(&mut cta);
        if let Some(held) = announced.look(&mut cta) {
            let mut found = 0;
            let held = held.update(&mut cta, |_, old| {
                found = old;
                old + more
            });
            held.release(&mut cta);
            if !mine.is_empty() {
                mine.put(0, found + 1);
            }
        }
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}
