//! A kernel among the functions of a type.

use baton::prelude::*;

struct Kernels;

impl Kernels {
    #[baton::kernel(threads = 32)]
    fn method(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        cta.join().exit(())
    }
}

fn main() {}
