//! Counts in one word at the scope of the CTA and at that of the device.

use baton::prelude::*;
use baton::sem::Relaxed;

fn count(cta: &Cta<'_, NoShared, 128>, words: GlobalPtr<u32>) {
    // SAFETY: the array is zero at the start of a launch, and only this touches it.
    let (here, everywhere) = unsafe { (words.atomics::<baton::scope::Cta, _, _>(cta), words.atomics::<Gpu, _, _>(cta)) };
    here.at(0).red_add::<Relaxed>(1);
    everywhere.at(0).red_add::<Relaxed>(1);
}

fn main() {
    let _ = count;
}
