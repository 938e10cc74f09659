//! Gives one side to two sets of threads.

use baton::prelude::*;
use baton::protocol::Dekker;

fn twice<'k>(cta: Cta<'k, NoShared, 64>, totals: Dekker<u32>) {
    let (cta, ()) = cta.claim();
    let _ = cta.roles((
        warp(move |mut w| drop(totals.side(&mut w))),
        warp(move |mut w| drop(totals.side(&mut w))),
    ));
}

fn main() {
    let _ = twice;
}
