//! The closure of one role, run by two.

use baton::prelude::*;

fn twice<'k>(cta: Cta<'k, NoShared, 64>, data: Partition32) {
    let (cta, ()) = cta.claim();
    let body = warp(move |_| drop(data));
    let _ = cta.roles((body, body));
}

type Partition32 = baton::global::Partition<u32>;

fn main() {}
