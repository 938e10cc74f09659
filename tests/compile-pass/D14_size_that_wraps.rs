//! A stage that fits.

use baton::prelude::*;

type Small = Linear<u64, 4>;

baton::shared! { pub struct Smem in smem { ring: Stages<1, Small, ByThreads, ByThreads> } }

#[baton::kernel(threads = 32)]
fn idle(cta: Cta<'_, Smem, 32>) -> Exit<'_> {
    let (cta, _) = cta.claim();
    cta.join().exit(())
}

fn main() {}
