//! Every warp has a role.

use baton::prelude::*;

#[baton::kernel(threads = 64)]
fn meet(cta: Cta<'_, NoShared, 64>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((warp(|_| ()), warp(|_| ())));
    joined.exit(())
}

fn main() {}
