//! Deals an array out for each piece of work, where the work's own elements were meant.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 64)]
fn squares(cta: Cta<'_, Smem, 64>, numbers: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, .. }) = cta.claim();
    let (asker, (follower,)) = tiles.split();
    let (joined, (asked, ())) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut w| {
            let mut next = Some(follower.own());
            while let Some((follower, work)) = next {
                numbers.partition(&w).put(0, work.index().x);
                next = follower.next(&mut w);
            }
        }),
    ));
    joined.exit((asked,))
}

fn main() {}
