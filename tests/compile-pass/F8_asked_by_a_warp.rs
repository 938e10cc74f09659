//! One thread of a warp asks for clusters.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 64)]
fn squares(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, .. }) = cta.claim();
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
    joined.exit((asked,))
}

fn main() {}
