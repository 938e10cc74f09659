//! Has a relay of two CTAs and one of four in one kernel.

use baton::prelude::*;
use baton::relay::Relay;

baton::shared! {
    pub struct Smem in smem { two: Relay<1, u32, 32, 2>, four: Relay<1, u32, 32, 4> }
}

#[baton::kernel(threads = 32, cluster = 4)]
fn both(cta: Cta<'_, Smem, 32>) -> Exit<'_> {
    let (cta, _) = cta.claim();
    cta.join().exit(())
}

fn main() {
    let _ = both;
}
