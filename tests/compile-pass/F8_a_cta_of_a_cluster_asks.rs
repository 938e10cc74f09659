//! One CTA of the cluster asks, for both.

use baton::global::TheWarp;
use baton::prelude::*;
use baton::takeover::Takeover;

baton::shared! {
    pub struct Smem in smem { tiles: Takeover<2, 1, 2> }
}

#[baton::kernel(threads = 64, cluster = 2)]
fn count(cta: Cta<'_, Smem, 64>, mut numbers: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, .. }) = cta.claim();
    let (asker, (follower,)) = tiles.split();
    let (joined, (asked, ())) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut w| {
            let mut next = Some(follower.own());
            while let Some((follower, work)) = next {
                for mut place in work.partition(&mut w, &mut numbers) {
                    place.put(place.get() + 1);
                }
                next = follower.next(&mut w);
            }
        }),
    ));
    joined.exit((asked,))
}

fn main() {}
