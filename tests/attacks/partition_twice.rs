//! An array dealt out twice.

use baton::prelude::*;

fn twice(cta: &Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) {
    let mut mine = words.partition(cta);
    let mut yours = words.partition(cta);
    mine.put(0, 1);
    yours.put(0, 2);
}

fn main() {}
