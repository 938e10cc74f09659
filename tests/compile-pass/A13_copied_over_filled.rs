//! A stage is filled by stores or by copies.

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
    slot.copy(warp, input, |i| i as u64).wait_copies(warp).publish(warp);
}

fn main() {
    let _ = load;
}
