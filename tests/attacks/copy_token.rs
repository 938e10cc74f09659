//! The CTA's token used after it was split into roles.

use baton::prelude::*;

fn twice(cta: Cta<'_, NoShared, 32>) {
    let (cta, ()) = cta.claim();
    let _first = cta.roles((warp(|_| ()),));
    let _second = cta.roles((warp(|_| ()),));
}

fn main() {}
