//! The wait and another fence stand between.

#[path = "../fixture/hopper.rs"]
mod fixture;
use baton::float::e4m3;
use fixture::*;

type Bytes = Stages<4, (Tile<e4m3, 64, 128>, Tile<e4m3, 128, 128>), ByBulk, ByWgmma>;

baton::shared! {
    pub struct Narrow in narrow { ab: Bytes }
}

fn multiply<'k>(
    wg: &mut Threads<'k>,
    stages: &mut Operands<'k>,
    others: &mut Consumer<'k, narrow::ab, Bytes, Threads<'k>, 4>,
) {
    let (one, two) = (stages.wait(wg), others.wait(wg));
    let sum = Sum::new(wg).fence(wg);
    let (sum, one) = sum.mma_async(wg, one);
    let (sum, one) = sum.commit_group(wg, one).wait_group::<0, _>(wg);
    let (sum, two) = sum.fence(wg).mma_async(wg, two);
    let (_, two) = sum.commit_group(wg, two).wait_group::<0, _>(wg);
    one.release(wg);
    two.release(wg);
}

fn main() {
    let _ = multiply;
}
