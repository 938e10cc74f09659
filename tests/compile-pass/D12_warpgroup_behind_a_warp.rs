//! The warpgroup first.

use baton::prelude::*;

#[baton::kernel(threads = 160)]
fn mixed(cta: Cta<'_, NoShared, 160>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((warpgroup(|_| ()), warp(|_| ())));
    joined.exit(())
}

fn main() {}
