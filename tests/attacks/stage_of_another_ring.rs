//! A stage of one ring passed for a stage of another.

use baton::path::Full;
use baton::prelude::*;
use baton::stages::Slot;
use baton::token::Role;

type Words = Stages<2, Linear<u32, 32>, ByThreads, ByThreads>;
type Reader<'k> = Warp<'k, Role<0>>;
baton::shared! { pub struct Smem in smem { first: Words, second: Words } }

fn pass<'k>(stage: Slot<'k, smem::first, Words, Reader<'k>, Full>) -> Slot<'k, smem::second, Words, Reader<'k>, Full> {
    stage
}

fn main() {}
