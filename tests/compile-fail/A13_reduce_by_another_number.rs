//! Reduces over a region that has not an element for each thread.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { sums: Exchange<f32, 32> } }

#[baton::kernel(threads = 64)]
fn sum(cta: Cta<'_, Smem, 64>, y: GlobalPtr<f32>) -> Exit<'_> {
    let (mut cta, smem::Parts { sums, .. }) = cta.claim();
    let region = sums.open(&mut cta);
    let (sum, region) = region.reduce(&mut cta, 1.0, |a, b| a + b);
    region.close(&mut cta);
    y.partition(&cta).put(0, sum);
    cta.join().exit(())
}

fn main() {}
