//! Takes words to synchronise by that nobody says are zero at the start of the launch.

use baton::atomic::Atomics;
use baton::prelude::*;
use baton::sem::Relaxed;

#[baton::kernel(threads = 32)]
pub fn count(cta: Cta<'_, NoShared, 32>, words: Atomics<'static, u32, Gpu>) -> Exit<'_> {
    words.at(0).red_add::<Relaxed>(1);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {
    let _ = count;
}
