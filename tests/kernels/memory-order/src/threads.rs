//! Between the threads of one CTA: rules A4 (an mbarrier's arrival), A13, B3, C1, C6.

use baton::alias::Aliases;
use baton::prelude::*;
use baton::protocol::SpinLock;

use crate::NEW;

/// The other warp's thread of the same lane.
fn opposite(cta: &impl Set) -> u32 {
    cta.rank() ^ 32
}

/// Each thread writes its own element and reads the other warp's, behind the CTA's barrier.
#[baton::kernel(threads = 64)]
pub fn barrier(
    cta: Cta<'_, NoShared, 64>,
    data: SpinLock<u32>,
    out: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = out.partition(&cta);
    let held = data.lock(&mut cta).fill(&mut cta, |_| NEW).sync(&mut cta);
    let seen = held.get(opposite(&cta) as u64);
    if !mine.is_empty() {
        mine.put(0, seen + 1);
    }
    held.release(&mut cta);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Each thread writes its own element through one address and reads the other warp's through the other.
#[baton::kernel(threads = 64)]
pub fn aliases(
    cta: Cta<'_, NoShared, 64>,
    first: GlobalPtr<u32>,
    second: GlobalPtr<u32>,
    out: GlobalPtr<u32>,
) -> Exit<'_> {
    let mut cta = cta;
    let mut mine = out.partition(&cta);
    // SAFETY: (1) the arrays are one, by two addresses; (2) one CTA is launched, and claims them here.
    let array = unsafe { Aliases::claim(&mut cta, first, second) };
    let array = array.fill(&mut cta, |_| NEW).fence_proxy_alias(&mut cta).sync(&mut cta);
    let seen = array.get(opposite(&cta) as u64);
    if !mine.is_empty() {
        mine.put(0, seen + 1);
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

baton::shared! { pub struct Smem in smem { values: Exchange<u32, 64> } }

/// The same in shared memory, behind an mbarrier.
#[baton::kernel(threads = 64)]
pub fn exchange(cta: Cta<'_, Smem, 64>, out: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let (mut cta, smem::Parts { values, .. }) = cta.claim();
    let values = values.open(&mut cta).fill(&mut cta, |_| NEW).arrive(&mut cta).wait(&mut cta);
    let seen = values.get(opposite(&cta));
    if !mine.is_empty() {
        mine.put(0, seen + 1);
    }
    values.close(&mut cta);
    cta.join().exit(())
}

/// The same with a relaxed wait and a fence.
#[baton::kernel(threads = 64)]
pub fn exchange_relaxed(cta: Cta<'_, Smem, 64>, out: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let (mut cta, smem::Parts { values, .. }) = cta.claim();
    let values = values.open(&mut cta).fill(&mut cta, |_| NEW).arrive(&mut cta);
    let values = values.wait_relaxed(&mut cta).fence_acquire(&mut cta);
    let seen = values.get(opposite(&cta));
    if !mine.is_empty() {
        mine.put(0, seen + 1);
    }
    values.close(&mut cta);
    cta.join().exit(())
}
