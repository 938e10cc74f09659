//! The attribute and the token disagree about the number of threads.

use baton::prelude::*;

#[baton::kernel(threads = 128)]
fn meet(cta: Cta<'_, NoShared, 64>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let (joined, _) = cta.roles((warp(|_| ()), warp(|_| ())));
    joined.exit(())
}

fn main() {}
