//! A kernel that is handed a reference.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
fn borrow(cta: Cta<'_, NoShared, 32>, words: &mut u32) -> Exit<'_> {
    *words = 1;
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {}
