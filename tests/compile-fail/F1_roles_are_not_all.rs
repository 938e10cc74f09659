//! The roles together are fewer threads than the CTA has.

use baton::prelude::*;

#[baton::kernel(threads = 64)]
fn meet(cta: Cta<'_, NoShared, 64>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((warp(|_| ()),));
    joined.exit(())
}

fn main() {}
