//! The macro behind `#[baton::kernel]`, given parameters that are not in their places.

use baton::prelude::*;

baton::__baton_kernel! {
    pub exchanged = fn exchanged(cta: Cta<'_, NoShared, 32>, a: u64, b: u32) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        cta.join().exit(())
    } as exchanged;
    threads 32, cluster 0, min_ctas 0;
    launched for<'k> fn(Cta<'k, NoShared, 32>);
    1 received0 a: u64;
    0 received1 b: u32;
}

baton::__baton_kernel! {
    pub other = fn other(cta: Cta<'_, NoShared, 32>, a: u64) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        cta.join().exit(())
    } as other;
    threads 32, cluster 0, min_ctas 0;
    launched for<'k> fn(Cta<'k, NoShared, 64>);
    0 received0 a: u32;
}

fn main() {}
