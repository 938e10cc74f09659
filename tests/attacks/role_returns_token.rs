//! A role returns its token.

use baton::prelude::*;

fn escape(cta: Cta<'_, NoShared, 32>) {
    let (cta, ()) = cta.claim();
    let (_, (token,)) = cta.roles((warp(|w| w),));
    let _ = token;
}

fn main() {}
