//! A kernel with two root tokens.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
fn two(cta: Cta<'_, NoShared, 32>, again: Cta<'_, NoShared, 32>) -> Exit<'_> {
    let _ = again;
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {}
