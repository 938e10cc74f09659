//! Takes a vector load for one atomic read of flag and payload.

use baton::atomic::Atomics;
use baton::prelude::*;
use baton::sem::Acquire;

fn payload(words: Atomics<'_, u32, Gpu>) -> Option<u32> {
    let [flag, payload, ..] = words.load_v4::<Acquire>(0).whole().value();
    (flag != 0).then_some(payload)
}

fn main() {
    let _ = payload;
}
