//! A role returns a number that only its threads have.

use baton::prelude::*;

fn escape(cta: Cta<'_, NoShared, 32>) {
    let (cta, ()) = cta.claim();
    let (_, (lane,)) = cta.roles((warp(|w| w.lane()),));
    let _ = lane;
}

fn main() {}
