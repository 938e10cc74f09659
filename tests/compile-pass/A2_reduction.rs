//! An atomic that returns the old value heads the acquire pattern.

use baton::atomic::Atomic;
use baton::prelude::*;
use baton::sem::Release;

fn arrive(counter: Atomic<u32, Gpu>) {
    counter.fetch_add::<Release>(1).fence_acquire::<Gpu>();
}

fn main() {
    let _ = arrive;
}
