//! A follower of a takeover that the layout does not have, at an address that is another object's.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

use baton::ptx::addr::{Addr, SharedCta};
use baton::ptx::shared::dynamic_shared;
use baton::takeover::Followers;

type One<'k> = (Follower<'k>,);

fn by_the_trait<'k>(w: &mut Following<'k>) {
    let (follower,) = <One<'k>>::at(dynamic_shared().offset(64));
    let _ = follower.next(w);
}

fn by_its_module<'k>(base: Addr<SharedCta>) -> (Follower<'k>,) {
    baton::takeover::At::<'k, smem::tiles, 2, 1, 1>::at(base)
}

fn by_a_bound<'k, F: Followers<'k, smem::tiles, 2, 1, 1>>(base: Addr<SharedCta>) -> F {
    F::at(base)
}

fn main() {}
