//! The macro behind `shared!`, given two fields in one place, and two in each other's.

use baton::prelude::*;

baton::__baton_layout! {
    pub Overlapping { [] [] [] } #[doc = ""] overlapping
    0 first: Exchange<u32, 32>, "" [] { [] [] [] };
    0 second: Exchange<u32, 64>, "" [] { [] [] [] };
}

baton::__baton_layout! {
    pub Exchanged { [] [] [] } #[doc = ""] exchanged
    1 first: Exchange<u32, 32>, "" [] { [] [] [] };
    0 second: Exchange<u32, 64>, "" [] { [] [] [] };
}

#[baton::kernel(threads = 32)]
fn overlapping(cta: Cta<'_, Overlapping, 32>) -> Exit<'_> {
    let (cta, _) = cta.claim();
    cta.join().exit(())
}

#[baton::kernel(threads = 32)]
fn exchanged(cta: Cta<'_, Exchanged, 32>) -> Exit<'_> {
    let (cta, _) = cta.claim();
    cta.join().exit(())
}

fn main() {}
