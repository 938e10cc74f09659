//! One instruction loads from all devices and adds.

use baton::multicast::Multicast;
use baton::prelude::*;
use baton::sem::Relaxed;

fn sum(words: Multicast<'_, u32, Sys>) -> u32 {
    words.load_reduce_add::<Relaxed>(0)
}

fn main() {
    let _ = sum;
}
