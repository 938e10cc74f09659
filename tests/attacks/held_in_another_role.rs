//! What one warp locked, in the hands of another warp.

use baton::prelude::*;
use baton::protocol::SpinLock;

fn share<'k>(cta: Cta<'k, NoShared, 64>, totals: SpinLock<u32>) {
    let mut cta = cta;
    let held = totals.lock(&mut cta);
    let (cta, ()) = cta.claim();
    cta.roles((warp(move |_| drop(held)), warp(move |_| ())));
}

fn main() {}
