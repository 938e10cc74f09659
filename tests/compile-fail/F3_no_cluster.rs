//! Reads the memory of peers in a kernel that is launched without any.

use baton::cluster::PeerExchange;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { halves: PeerExchange<u32, 128, 2> }
}

#[baton::kernel(threads = 128)]
pub fn exchange(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (mut cta, smem::Parts { halves, .. }) = cta.claim();
    let halves = halves.open(&mut cta);
    let closed = halves.close(&mut cta);
    cta.join().exit((closed,))
}

fn main() {
    let _ = exchange;
}
