//! The body of a kernel called like a function.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
fn nothing(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn call(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    nothing(cta)
}

fn main() {}
