//! Multiplies the first 64 rows of the tile.

#[path = "../fixture/shared_ring.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Upper<'k>, end: &mut End<'k, Upper<'k>>, sum: Sum<'k, Upper<'k>, WgmmaFenced>) {
    let stage = end.wait(wg);
    let _ = sum.mma_async_rows::<0, _, _, _>(wg, stage);
}

fn main() {
    let _ = multiply;
}
