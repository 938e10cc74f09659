//! One set hands back, a second time, the stage that another one drains.

#[path = "../fixture/shared_ring.rs"]
mod fixture;
use fixture::*;

fn both<'k>(wg: &mut Upper<'k>, other: Slot<'k, smem::ab, Share<Ring, ByWgmma>, Lower<'k>, Multiplied>) {
    other.release(wg);
}

fn main() {
    let _ = both;
}
