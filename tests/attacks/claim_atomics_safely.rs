//! An array turned into atomics without the promise that nobody does otherwise.

use baton::prelude::*;

fn atomics(cta: &Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) {
    let _ = words.atomics::<Gpu, _, _>(cta);
}

fn main() {}
