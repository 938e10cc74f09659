//! Two regions whose arrivals on the one barrier of a cluster could follow each other.

use baton::cluster::PeerExchange;
use baton::prelude::*;

baton::shared! {
    pub struct Smem in smem { a: PeerExchange<u32, 32, 2>, b: PeerExchange<u32, 32, 2> }
}

#[baton::kernel(threads = 32, cluster = 2)]
pub fn exchange(cta: Cta<'_, Smem, 32>) -> Exit<'_> {
    let (mut cta, smem::Parts { a, b, .. }) = cta.claim();
    let a = a.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta);
    let b = b.open(&mut cta).fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta).close(&mut cta);
    let a = a.wait(&mut cta).close(&mut cta);
    cta.join().exit((a, b))
}

fn main() {}
