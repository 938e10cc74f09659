//! Exits while the region may be in use.

use baton::cluster::PeerExchange;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { halves: PeerExchange<u32, 128, 2> }
}

#[baton::kernel(threads = 128, cluster = 2)]
pub fn exchange(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (mut cta, smem::Parts { halves, .. }) = cta.claim();
    let halves = halves.open(&mut cta);
    core::mem::forget(halves);
    cta.join().exit(())
}

fn main() {
    let _ = exchange;
}
