//! A cluster whose CTAs part.

use baton::cluster::PeerExchange;
use baton::prelude::*;

baton::shared! {
    pub struct Peers in peers_of { words: PeerExchange<u32, 32, 2> }
}

/// Wrong: the CTAs of a cluster exchange as often as their numbers say.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn exchanged_by_cta(cta: Cta<'_, Peers, 32>, out: GlobalPtr<u32>, n: u32) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let rank = cta.cluster_rank().0;
    let (mut cta, peers_of::Parts { words, .. }) = cta.claim();
    let mut region = words.open(&mut cta);
    for _ in 0..n + cta.index().x {
        region = region.fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta).reopen(&mut cta); // meets
    }
    mine.put(0, rank);
    let closed = region.close(&mut cta);
    cta.join().exit((closed,))
}

/// Wrong: one CTA of each cluster exchanges.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn exchanged_by_one(cta: Cta<'_, Peers, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let rank = cta.cluster_rank().0;
    let (mut cta, peers_of::Parts { words, .. }) = cta.claim();
    let mut region = words.open(&mut cta);
    if rank == 0 {
        region = region.fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta).reopen(&mut cta); // meets
    }
    mine.put(0, rank);
    let closed = region.close(&mut cta);
    cta.join().exit((closed,))
}

/// Told: each CTA of a cluster exchanges at a place of its own, as often as the other.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn exchanged_in_arms(cta: Cta<'_, Peers, 32>, out: GlobalPtr<u32>, n: u32) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let rank = cta.cluster_rank().0;
    let (mut cta, peers_of::Parts { words, .. }) = cta.claim();
    let region = words.open(&mut cta);
    let region = if rank == 0 {
        region.fill(&mut cta, |i| i).arrive(&mut cta).wait(&mut cta)
    } else {
        region.fill(&mut cta, |i| i * n).arrive(&mut cta).wait(&mut cta)
    };
    mine.put(0, region.get(1 - rank, 3));
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
