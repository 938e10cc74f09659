//! Regions that a CTA exchanges with itself, and a ring whose both ends the CTA holds.
use baton::layout::Claimed;
use baton::prelude::*;

baton::shared! {
    /// Two regions and a ring.
    pub struct Smem in smem {
        one: Exchange<u32, 64>,
        two: Exchange<u32, 64>,
        ring: Stages<2, Linear<u32, 64>, ByThreads, ByThreads>,
    }
}

type Threads<'k> = Cta<'k, Claimed<Smem>, 64>;

/// Each round goes through one region, the ring, and the other region.
#[baton::kernel(threads = 64)]
pub fn exchanges(
    cta: Cta<'_, Smem, 64>,
    output: GlobalPtr<u32>,
    rounds: u32,
) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let (mut cta, smem::Parts { one, two, ring, .. }) = cta.claim();
    let (mut filling, mut draining) = ring.split::<Threads<'_>, Threads<'_>, 2>();
    let me = cta.rank();
    let mut first = one.open(&mut cta);
    let mut second = two.open(&mut cta);
    let mut sum = 0;
    for round in 0..rounds {
        let full = first.fill(&mut cta, |i| i + round).arrive(&mut cta).wait(&mut cta);
        sum += full.get(63 - me);
        first = full.reopen(&mut cta);
        filling.acquire(&mut cta).fill(&mut cta, |i| 3 * i).publish(&mut cta);
        let stage = draining.wait(&mut cta);
        sum += stage.get(63 - me);
        stage.release(&mut cta);
        let arrived = second.fill(&mut cta, |i| i + round).arrive(&mut cta);
        let full = arrived.wait_relaxed(&mut cta).fence_acquire(&mut cta);
        sum += full.get(63 - me);
        second = full.reopen(&mut cta);
    }
    mine.put(0, sum);
    first.fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta).close(&mut cta);
    second.fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta).close(&mut cta);
    cta.join().exit(())
}
