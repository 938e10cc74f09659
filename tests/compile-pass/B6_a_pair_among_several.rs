//! Lets instructions of this CTA drain a ring beside a set of this CTA.

use baton::prelude::*;

const RING: u32 = bytes::<Stages<4, Tile<bf16, 128, 64>, ByBulk, (ByMma, ByThreads)>>();

const fn bytes<R: baton::stages::Ring>() -> u32 {
    R::STRIDE
}

fn main() {
    let _ = RING;
}
