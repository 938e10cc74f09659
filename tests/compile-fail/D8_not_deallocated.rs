//! Ends the kernel with its tensor memory allocated.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { acc: Accs<1, 128, 64> } }

#[baton::kernel(threads = 160)]
fn idle(cta: Cta<'_, Smem, 160>) -> Exit<'_> {
    let (cta, smem::Parts { acc, .. }) = cta.claim();
    let (accumulators, results, tensor) = acc.split();
    let (mut joined, (drained, issued)) = cta.roles((
        warpgroup(move |mut wg| results.finish(&mut wg)),
        warp(move |w| w.elect(move |mut t| accumulators.finish(&mut t))),
    ));
    let _ = (&mut joined, drained, issued, tensor);
    joined.exit(())
}

fn main() {}
