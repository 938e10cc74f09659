//! Lets a pair's instructions drain a ring beside a set of this CTA, which would not know when the stage is filled.

use baton::path::ByPairMma;
use baton::prelude::*;

const RING: u32 = bytes::<Stages<4, Tile<bf16, 128, 64>, ByBulk, (ByPairMma, ByThreads)>>();

const fn bytes<R: baton::stages::Ring>() -> u32 {
    R::STRIDE
}

fn main() {
    let _ = RING;
}
