//! A warp gives up what the CTA holds.

use baton::held::Held;
use baton::path::Handed;
use baton::prelude::*;
use baton::protocol::Unlock;
use baton::token::Role;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn unlock<'k>(warp: &mut Warp<'k, Role<0>>, held: Held<u32, Threads<'k>, Handed, Unlock<Gpu>>) {
    held.release(warp);
}

fn main() {}
