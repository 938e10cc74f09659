//! A closure for one position of the tuple at another.

use baton::prelude::*;
use baton::token::Role;

fn misplace<'k>(cta: Cta<'k, NoShared, 64>) {
    let (cta, ()) = cta.claim();
    let _ = cta.roles((warp(|_: Warp<'k, Role<1>>| ()), warp(|_: Warp<'k, Role<1>>| ())));
}

fn main() {}
