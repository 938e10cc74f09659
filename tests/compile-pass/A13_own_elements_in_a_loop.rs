//! Takes the elements that belong to each piece of work.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 64)]
fn squares(cta: Cta<'_, Smem, 64>, mut numbers: GlobalPtr<u32, TheWarp<1>>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, .. }) = cta.claim();
    let (asker, (follower,)) = tiles.split();
    let (joined, (asked, ())) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut w| {
            let mut next = Some(follower.own());
            while let Some((follower, work)) = next {
                work.partition(&mut w, &mut numbers).put(0, work.index().x);
                next = follower.next(&mut w);
            }
        }),
    ));
    joined.exit((asked,))
}

fn main() {}
