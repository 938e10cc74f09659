//! The ends of two rings of one type change places.

use baton::prelude::*;
use baton::token::Role;

type Words = Stages<2, Linear<u32, 32>, ByThreads, ByThreads>;
baton::shared! { pub struct Smem in smem { first: Words, second: Words } }

fn swap<'k>(smem::Parts { first, second, .. }: smem::Parts<'k>) {
    let (mut fills, _) = first.split::<Warp<'k, Role<0>>, Warp<'k, Role<1>>, 2>();
    let (mut fills_too, _) = second.split::<Warp<'k, Role<0>>, Warp<'k, Role<1>>, 2>();
    core::mem::swap(&mut fills, &mut fills_too);
}

fn main() {}
