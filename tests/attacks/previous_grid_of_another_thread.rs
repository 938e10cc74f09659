//! The witness of one role's wait, in another role.

use baton::prelude::*;
use baton::previous::{Dependent, PreviousGrid};

fn share<'k>(cta: Cta<'k, NoShared, 32>, input: Dependent<ReadOnly<u32>>) {
    let mut cta = cta;
    let previous = PreviousGrid::wait(&mut cta);
    let (cta, ()) = cta.claim();
    cta.roles((warp(move |_| {
        input.after(&previous).get(0);
    }),));
}

fn main() {}
