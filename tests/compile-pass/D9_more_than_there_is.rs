//! Accumulators that fit the one allocation.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { acc: Accs<2, 128, 256> } }

#[baton::kernel(threads = 160)]
fn idle(cta: Cta<'_, Smem, 160>) -> Exit<'_> {
    let (cta, smem::Parts { acc, .. }) = cta.claim();
    let (accumulators, results, tensor) = acc.split();
    let (mut joined, (drained, issued)) = cta.roles((
        warpgroup(move |mut wg| results.finish(&mut wg)),
        warp(move |w| w.elect(move |mut t| accumulators.finish(&mut t))),
    ));
    let deallocated = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((deallocated,))
}

fn main() {}
