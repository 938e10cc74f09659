//! A kernel that takes a token of all time.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
fn forever(cta: Cta<'static, NoShared, 32>) -> Exit<'static> {
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {}
