//! Between the CTAs of a cluster: rules C7, C11, F2.

use baton::cluster::PeerExchange;
use baton::index::ClusterRank;
use baton::prelude::*;
use baton::relay::Relay;

use crate::NEW;

baton::shared! { pub struct Ring in ring { values: Relay<1, u32, 1, 2> } }

/// CTA 1 pushes into CTA 0's memory and arrives there; CTA 0 waits.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn relay(cta: Cta<'_, Ring, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
    let ClusterRank(rank) = cta.cluster_rank();
    let mut mine = out.partition(&cta);
    let (mut cta, ring::Parts { values, .. }) = cta.claim();
    let (mut giving, mut taking) = values.split();
    if rank == 1 {
        giving.acquire(&mut cta).fill(&mut cta, |_| NEW).publish::<Cluster, _>(&mut cta);
    } else {
        let stage = taking.wait::<Cluster, _>(&mut cta);
        let seen = stage.get(0);
        stage.release::<Cluster, _>(&mut cta);
        if !mine.is_empty() {
            mine.put(0, seen + 1);
        }
    }
    let passed = giving.finish(&mut cta);
    cta.join().exit((passed,))
}

baton::shared! { pub struct Smem in smem { values: PeerExchange<u32, 32, 2> } }

/// Each thread reads what the peer's thread of the same rank wrote.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn peers(cta: Cta<'_, Smem, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
    let ClusterRank(rank) = cta.cluster_rank();
    let mut mine = out.partition(&cta);
    let (mut cta, smem::Parts { values, .. }) = cta.claim();
    let me = cta.rank();
    let values = values.open(&mut cta).fill(&mut cta, |_| NEW).arrive(&mut cta).wait(&mut cta);
    let seen = values.get(rank ^ 1, me);
    if !mine.is_empty() {
        mine.put(0, seen + 1);
    }
    let closed = values.close(&mut cta);
    cta.join().exit((closed,))
}

/// The same with a fence and a relaxed arrival.
#[baton::kernel(threads = 32, cluster = 2)]
pub fn peers_relaxed(cta: Cta<'_, Smem, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
    let ClusterRank(rank) = cta.cluster_rank();
    let mut mine = out.partition(&cta);
    let (mut cta, smem::Parts { values, .. }) = cta.claim();
    let me = cta.rank();
    let values = values.open(&mut cta).fill(&mut cta, |_| NEW).fence_release::<Cluster, _>(&mut cta);
    let values = values.arrive_relaxed(&mut cta).wait(&mut cta);
    let seen = values.get(rank ^ 1, me);
    if !mine.is_empty() {
        mine.put(0, seen + 1);
    }
    let closed = values.close(&mut cta);
    cta.join().exit((closed,))
}
