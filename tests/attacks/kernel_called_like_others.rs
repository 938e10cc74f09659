//! Kernels whose symbols are those of the library, the driver, the compiler and C, or none of PTX.
#![allow(unused_imports)]

use baton::prelude::*;

macro_rules! kernels {
    ($($name:ident)*) => {$(
        #[baton::kernel(threads = 32)]
        fn $name(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
            let (cta, ()) = cta.claim();
            cta.join().exit(())
        }
    )*};
}

kernels! {
    __baton_dropped_stage
    __dynamic_shared
    baton_dynamic_shared
    vprintf
    memcpy
    fmodf
    main
    _start
    rust_begin_unwind
    cudaDeviceSynchronize
    WARP_SZ
    r#in
    größe
}

#[baton::kernel(threads = 32, instances(free = <u32>))]
fn generic<T>(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {}
