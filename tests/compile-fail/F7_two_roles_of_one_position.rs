//! Two roles that would meet at one named barrier.

use baton::prelude::*;
use baton::token::Role;

fn meet(w: &mut Warpgroup<'_, Role<0>>) {
    w.barrier();
}

fn split<'k>(cta: Cta<'k, NoShared, 256>) {
    let (cta, ()) = cta.claim();
    let _ = cta.roles((warpgroup(|mut w| meet(&mut w)), warpgroup(|mut w| meet(&mut w))));
}

fn main() {
    let _ = split;
}
