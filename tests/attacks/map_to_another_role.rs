//! Takes an edited map into another role.

#[path = "../fixture/group.rs"]
mod fixture;
use fixture::*;

fn smuggle<'k>(cta: Cta<'k, baton::layout::Claimed<Smem>, 32>, map: Map<'k, MapReady>) {
    let _ = cta.roles((warp(move |_w| drop(map)),));
}

fn main() {
    let _ = smuggle;
}
