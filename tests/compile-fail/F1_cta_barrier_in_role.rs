//! A role calls the barrier of the whole CTA.

use baton::prelude::*;

#[baton::kernel(threads = 64)]
fn meet(cta: Cta<'_, NoShared, 64>) -> Exit<'_> {
    let (mut cta, ()) = cta.claim();
    let (joined, _) = cta.roles((warp(|_| cta.barrier()), warp(|_| ())));
    joined.exit(())
}

fn main() {}
