//! Two kernels of one name in two modules: in the PTX they would be one symbol.

use baton::prelude::*;

mod first {
    use super::*;

    #[baton::kernel(threads = 32)]
    pub fn copy(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        cta.join().exit(())
    }
}

mod second {
    use super::*;

    #[baton::kernel(threads = 64)]
    pub fn copy(cta: Cta<'_, NoShared, 64>) -> Exit<'_> {
        let (cta, ()) = cta.claim();
        cta.join().exit(())
    }
}

fn main() {}
