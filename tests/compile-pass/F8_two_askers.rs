//! One field, which two sets of threads follow.

use baton::prelude::*;
use baton::takeover::Takeover;

baton::shared! {
    pub struct Smem in smem { tiles: Takeover<2, 2> }
}

#[baton::kernel(threads = 96)]
fn two(cta: Cta<'_, Smem, 96>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, .. }) = cta.claim();
    let (asker, (follower, other)) = tiles.split();
    let (joined, (asked, ..)) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut w| {
            let mut next = Some(follower.own());
            while let Some((follower, _)) = next {
                next = follower.next(&mut w);
            }
        }),
        warp(move |mut w| {
            let mut next = Some(other.own());
            while let Some((other, _)) = next {
                next = other.next(&mut w);
            }
        }),
    ));
    joined.exit((asked,))
}

fn main() {}
