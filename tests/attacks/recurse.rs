//! A kernel's body that runs itself with a token of its own.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
fn again(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    let (claimed, ()) = cta.claim();
    let _ = again(cta);
    claimed.join().exit(())
}

fn main() {}
