//! The kernel uses one group throughout.

use baton::pair::Pair;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { tensor: Pair<256> }
}

#[baton::kernel(threads = 128, cluster = 2)]
fn pairs(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (cta, parts) = cta.claim();
    let mut joined = cta.join().join_peers();
    let closed = parts.tensor.dealloc(&mut joined);
    joined.exit((closed,))
}

fn main() {
    let _ = pairs;
}
