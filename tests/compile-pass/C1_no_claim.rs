//! The claim initialises the barriers and makes them visible.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { ring: Stages<2, Linear<u32, 32>, ByThreads, ByThreads> } }

fn start(cta: Cta<'_, Smem, 32>) {
    let (cta, _parts) = cta.claim();
    let (_joined, _) = cta.roles((warp(|_| ()),));
}

fn main() {
    let _ = start;
}
