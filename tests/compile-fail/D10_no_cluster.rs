//! Allocates the tensor memory of a pair in a kernel without clusters.

use baton::pair::Pair;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { tensor: Pair<256> }
}

#[baton::kernel(threads = 128)]
fn pairs(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (cta, smem::Parts { tensor, .. }) = cta.claim();
    let mut joined = cta.join().join_peers();
    let closed = tensor.dealloc(&mut joined);
    joined.exit((closed,))
}

fn main() {
    let _ = pairs;
}
