//! Each role's barrier follows from its own position.

use baton::prelude::*;
use baton::token::RolePosition;

fn meet<R: RolePosition>(w: &mut Warpgroup<'_, R>) {
    w.barrier();
}

fn split<'k>(cta: Cta<'k, NoShared, 256>) {
    let (cta, ()) = cta.claim();
    let _ = cta.roles((warpgroup(|mut w| meet(&mut w)), warpgroup(|mut w| meet(&mut w))));
}

fn main() {
    let _ = split;
}
