//! A stage whose size in bytes is 32 when it is cut to 32 bits.

use baton::prelude::*;

type Huge = Linear<u64, { (1 << 29) + 4 }>;

baton::shared! { pub struct Smem in smem { ring: Stages<1, Huge, ByThreads, ByThreads> } }

#[baton::kernel(threads = 32)]
fn idle(cta: Cta<'_, Smem, 32>) -> Exit<'_> {
    let (cta, _) = cta.claim();
    cta.join().exit(())
}

fn main() {}
