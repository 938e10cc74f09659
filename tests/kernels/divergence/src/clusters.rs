//! A cluster whose CTAs part.

use baton::cluster::PeerExchange;
use baton::prelude::*;

baton::shared! {
    pub struct Peers in peers_of { words: PeerExchange<u32, 32, 2> }
}

/// Told: the CTAs of a cluster exchange as often as their numbers say.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn exchanged_by_cta(cta: Cta<'_, Peers, 32>, out: GlobalPtr<u32>, n: u32) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let rank = cta.cluster_rank().0;
    let (mut cta, peers_of::Parts { words, .. }) = cta.claim();
    let mut region = words.open(&mut cta);
    for _ in 0..n + cta.index().x {
        region = region.fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta).reopen(&mut cta);
    }
    mine.put(0, rank);
    let closed = region.close(&mut cta);
    cta.join().exit((closed,))
}

/// As often as the number of the cluster says.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn exchanged_by_cluster(cta: Cta<'_, Peers, 32>, out: GlobalPtr<u32>, n: u32) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let rank = cta.cluster_rank().0;
    let (mut cta, peers_of::Parts { words, .. }) = cta.claim();
    let mut region = words.open(&mut cta);
    for _ in 0..n + cta.index().x / 2 {
        region = region.fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta).reopen(&mut cta);
    }
    mine.put(0, rank);
    let closed = region.close(&mut cta);
    cta.join().exit((closed,))
}
