//! Gives the end that asks to two roles.

use baton::prelude::*;
use baton::takeover::Takeover;

baton::shared! {
    pub struct Smem in smem { tiles: Takeover<2, 1> }
}

#[baton::kernel(threads = 64)]
fn twice(cta: Cta<'_, Smem, 64>) -> Exit<'_> {
    let (cta, smem::Parts { tiles, .. }) = cta.claim();
    let (asker, (_follower,)) = tiles.split();
    let (joined, (asked, _)) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
    ));
    joined.exit((asked,))
}

fn main() {}
