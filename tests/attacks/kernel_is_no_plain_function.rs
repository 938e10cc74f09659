//! Functions that are called in another way, or are not the same in both builds.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
const fn constant(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
async fn later(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
unsafe fn trusted(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
extern "C" fn of_c(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
fn any_type(cta: Cta<'_, NoShared, 32>, value: impl Copy) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
fn sometimes(cta: Cta<'_, NoShared, 32>, #[cfg(target_arch = "nvptx64")] value: u32) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
#[cfg(target_arch = "nvptx64")]
fn there_alone(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
#[cfg_attr(target_arch = "nvptx64", inline(never))]
fn changed(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
#[unsafe(export_name = "other")]
fn exported(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
#[unsafe(no_mangle)]
fn exported_too(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32)]
#[inline(never)]
fn alone(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = 32, threads = 64)]
fn twice(cta: Cta<'_, NoShared, 64>) -> Exit<'_> {
    loop {}
}

#[baton::kernel(threads = THREADS)]
fn elsewhere(cta: Cta<'_, NoShared, 64>) -> Exit<'_> {
    loop {}
}

struct Kernels;

impl Kernels {
    #[baton::kernel(threads = 32)]
    fn method(self, cta: Cta<'_, NoShared, 32>) -> Exit<'_> {
        loop {}
    }
}

fn main() {}
