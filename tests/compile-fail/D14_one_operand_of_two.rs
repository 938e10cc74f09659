//! Takes a stage of two tiles for one matrix.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

type Both = Stages<2, (Tile<bf16, 128, 64>, Tile<bf16, 64, 64>), ByBulk, ByMma>;

baton::shared! { pub struct Pairs in pairs { ab: Both } }

pub fn view<'k>(t: &mut Issuer<'k>, ends: &mut Consumer<'k, pairs::ab, Both, Issuer<'k>, 2>) {
    let stage = ends.wait(t).open(t);
    let _ = stage.operand();
    stage.release_by_commit(t);
}

fn main() {}
