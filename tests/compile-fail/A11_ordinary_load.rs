//! Loads from memory of several devices as if it were one.

use baton::multicast::Multicast;
use baton::prelude::*;
use baton::sem::Relaxed;

fn sum(words: Multicast<'_, u32, Sys>) -> u32 {
    words.load::<Relaxed>(0)
}

fn main() {
    let _ = sum;
}
