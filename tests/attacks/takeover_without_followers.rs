//! A takeover that nobody follows: its mbarriers would count no arrivals.

use baton::prelude::*;
use baton::takeover::Takeover;
use baton::token::{Finished, RequestsOf, Warp};

baton::shared! {
    pub struct Smem in smem { tiles: Takeover<1, 0> }
}

#[baton::kernel(threads = 32)]
fn wait(cta: Cta<'_, Smem, 32>, stop: u32) -> Exit<'_> {
    let (cta, _) = cta.claim();
    let (joined, (proof,)) =
        cta.roles((warp(move |_w: Warp<'_, _>| -> Finished<'_, RequestsOf<smem::tiles>> {
            loop {
                baton::assert!(stop == 0);
            }
        }),));
    joined.exit((proof,))
}

fn main() {}
