//! Multiplies a tile of A that has more rows than one instruction takes, and does not say which.

#[path = "../fixture/shared_ring.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Upper<'k>, end: &mut End<'k, Upper<'k>>, sum: Sum<'k, Upper<'k>, WgmmaFenced>) {
    let stage = end.wait(wg);
    let _ = sum.mma_async(wg, stage);
}

fn main() {
    let _ = multiply;
}
