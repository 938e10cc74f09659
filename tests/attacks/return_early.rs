//! A kernel whose threads leave before it ends.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
fn leave(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    if cta.rank() == 0 {
        return;
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {}
