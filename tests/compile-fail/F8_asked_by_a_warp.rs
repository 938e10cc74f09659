//! All 32 lanes of a warp ask for clusters.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 64)]
fn squares(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, .. }) = cta.claim();
    let (asker, (follower,)) = tiles.split();
    let (joined, (asked, ())) = cta.roles((
        warp(move |mut w| asker.ask_until_refused(&mut w)),
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
