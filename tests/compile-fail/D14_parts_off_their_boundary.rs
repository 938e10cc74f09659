//! Reads sixteen bytes at a time where the second part of a stage begins in the middle of sixteen.

use baton::path::Full;
use baton::prelude::*;
use baton::stages::Slot;
use baton::token::Role;

type Ring = Stages<2, (Linear<u8, 5>, Linear<u8, 27>), ByThreads, ByThreads>;

baton::shared! {
    pub struct Smem in smem { ring: Ring }
}

type Threads<'k> = Warp<'k, Role<0>>;

fn last<'k>(slot: &Slot<'k, smem::ring, Ring, Threads<'k>, Full>) -> [u8; 16] {
    slot.get_chunk(16)
}

fn main() {
    let _: for<'a, 'k> fn(&'a Slot<'k, smem::ring, Ring, Threads<'k>, Full>) -> [u8; 16] = last;
}
