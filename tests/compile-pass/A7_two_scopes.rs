//! All accesses to the word have one scope.

use baton::prelude::*;
use baton::sem::Relaxed;

fn count(cta: &Cta<'_, NoShared, 128>, words: GlobalPtr<u32>) {
    // SAFETY: the array is zero at the start of a launch, and only this touches it.
    let everywhere = unsafe { words.atomics::<Gpu, _, _>(cta) };
    everywhere.at(0).red_add::<Relaxed>(1);
    everywhere.at(0).red_add::<Relaxed>(1);
}

fn main() {
    let _ = count;
}
