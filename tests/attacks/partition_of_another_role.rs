//! An array dealt out by a role that does not own it.

use baton::global::TheWarp;
use baton::prelude::*;
use baton::token::Role;

fn deal(warp: &Warp<'_, Role<0>>, words: GlobalPtr<u32, TheWarp<1>>) {
    words.partition(warp).put(0, 1);
}

fn main() {}
