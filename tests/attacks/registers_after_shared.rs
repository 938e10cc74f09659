//! Multiplies what is in registers into a product whose last instruction, in a group of its own, had A in shared memory.

#[path = "../fixture/hopper.rs"]
mod fixture;
use baton::wgmma::Fragment;
use fixture::*;

type Right = Stages<4, Tile<bf16, 128, 64>, ByBulk, ByWgmma>;

baton::shared! {
    pub struct Other in other { b: Right }
}

fn multiply<'k>(
    wg: &mut Threads<'k>,
    stages: &mut Operands<'k>,
    others: &mut Consumer<'k, other::b, Right, Threads<'k>, 4>,
    a: Fragment<bf16, Threads<'k>, 4>,
) {
    let (one, two) = (stages.wait(wg), others.wait(wg));
    let sum = Sum::new(wg).fence(wg);
    let (sum, one) = sum.mma_async(wg, one);
    let sum = sum.commit_group(wg, one);
    let _ = a.mma_async(wg, sum, two);
}

fn main() {
    let _ = multiply;
}
