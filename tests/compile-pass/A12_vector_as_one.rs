//! Flag and payload are one word.

use baton::atomic::Atomics;
use baton::prelude::*;
use baton::sem::Acquire;

fn payload(words: Atomics<'_, u64, Gpu>) -> Option<u32> {
    let both = words.at(0).load::<Acquire>().value();
    (both >> 32 != 0).then_some(both as u32)
}

fn main() {
    let _ = payload;
}
