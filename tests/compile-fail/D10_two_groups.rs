//! Has tensor memory of a single CTA and of a pair.

use baton::pair::Pair;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { tensor: Pair<256>, acc: Accs<1, 128, 128> }
}

#[baton::kernel(threads = 128, cluster = 2)]
fn pairs(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (cta, parts) = cta.claim();
    let mut joined = cta.join();
    let acc = parts.acc.dealloc(&mut joined);
    let mut joined = joined.join_peers();
    let closed = parts.tensor.dealloc(&mut joined);
    joined.exit((closed, acc))
}

fn main() {
    let _ = pairs;
}
