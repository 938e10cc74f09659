//! Multiplies bf16 in registers by a tile of another type.

#[path = "../fixture/fragment.rs"]
mod fixture;
use fixture::*;

type Other = Stages<4, Tile<f16, 128, 64>, ByBulk, ByWgmma>;

baton::shared! {
    pub struct Halves in halves { b: Other }
}

fn multiply<'k>(
    wg: &mut Threads<'k>,
    stages: &mut Consumer<'k, halves::b, Other, Threads<'k>, 4>,
    a: A<'k>,
) {
    let stage = stages.wait(wg);
    let sum = Sum::new(wg);
    let _ = a.mma_async(wg, sum, stage);
}

fn main() {
    let _ = multiply;
}
