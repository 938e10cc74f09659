//! Two fields that ask for clusters: the one does not know what the other has been told.

use baton::prelude::*;
use baton::takeover::Takeover;

baton::shared! {
    pub struct Smem in smem { tiles: Takeover<2, 1>, more: Takeover<2, 1> }
}

#[baton::kernel(threads = 64)]
fn two(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, more, .. }) = cta.claim();
    let (asker, (follower,)) = tiles.split();
    let (second, (other,)) = more.split();
    let (joined, ((asked, asked_too), ())) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                (asker.ask_until_refused(&mut t), second.ask_until_refused(&mut t))
            })
        }),
        warp(move |mut w| {
            let mut next = Some(follower.own());
            while let Some((follower, _)) = next {
                next = follower.next(&mut w);
            }
            let mut next = Some(other.own());
            while let Some((other, _)) = next {
                next = other.next(&mut w);
            }
        }),
    ));
    joined.exit((asked, asked_too))
}

fn main() {}
