//! Copies over what threads have filled, by another deal of the elements.

use baton::path::Empty;
use baton::prelude::*;
use baton::stages::Slot;
use baton::token::Role;

type Ring = Stages<2, Linear<u32, 128>, ByThreads, ByThreads>;

baton::shared! {
    pub struct Smem in smem { ring: Ring }
}

type Threads<'k> = Warp<'k, Role<0>>;
type Stage<'k, State> = Slot<'k, smem::ring, Ring, Threads<'k>, State>;

fn load<'k>(warp: &mut Threads<'k>, slot: Stage<'k, Empty>, input: ReadOnly<u32>) {
    let slot = slot.fill(warp, |i| i);
    slot.copy(warp, input, |i| i as u64).wait_copies(warp).publish(warp);
}

fn main() {
    let _ = load;
}
