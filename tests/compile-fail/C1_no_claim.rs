//! Splits a CTA into roles before its barriers were initialised.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { ring: Stages<2, Linear<u32, 32>, ByThreads, ByThreads> } }

fn start(cta: Cta<'_, Smem, 32>) {
    let (_joined, _) = cta.roles((warp(|_| ()),));
}

fn main() {
    let _ = start;
}
