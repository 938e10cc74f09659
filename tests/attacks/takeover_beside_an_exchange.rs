//! A takeover of single CTAs in a layout that another field makes one of clusters.

use baton::cluster::PeerExchange;
use baton::prelude::*;
use baton::takeover::Takeover;

baton::shared! {
    pub struct Smem in smem { tiles: Takeover<2, 1>, sums: PeerExchange<u32, 1, 2> }
}

#[baton::kernel(threads = 64, cluster = 2)]
fn count(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let own = cta.index().x;
    let (mut cta, smem::Parts { tiles, sums, .. }) = cta.claim();
    let sums = sums.open(&mut cta).fill(&mut cta, |_| own).arrive(&mut cta).wait(&mut cta);
    let closed = sums.close(&mut cta);
    let (asker, (follower,)) = tiles.split();
    let (joined, (asked, ())) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut w| {
            let mut next = Some(follower.own());
            while let Some((follower, _)) = next {
                next = follower.next(&mut w);
            }
        }),
    ));
    joined.exit((asked, closed))
}

fn main() {}
