//! Exits while the tensor memory of the pair is allocated.

use baton::pair::Pair;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { tensor: Pair<256> }
}

#[baton::kernel(threads = 128, cluster = 2)]
fn leak(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (cta, _parts) = cta.claim();
    cta.join().join_peers().exit(())
}

fn main() {
    let _ = leak;
}
