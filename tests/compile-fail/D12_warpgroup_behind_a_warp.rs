//! A warpgroup whose first warp is the second of the CTA.

use baton::prelude::*;

#[baton::kernel(threads = 160)]
fn mixed(cta: Cta<'_, NoShared, 160>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((warp(|_| ()), warpgroup(|_| ())));
    joined.exit(())
}

fn main() {}
