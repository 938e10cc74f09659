//! Takes a reduction and a fence for an acquire pattern.

use baton::atomic::Atomic;
use baton::prelude::*;
use baton::sem::Release;

fn arrive(counter: Atomic<u32, Gpu>) {
    counter.red_add::<Release>(1).fence_acquire::<Gpu>();
}

fn main() {
    let _ = arrive;
}
