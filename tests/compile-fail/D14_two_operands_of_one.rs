//! Takes a stage of one tile for two matrices.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

pub fn view<'k>(t: &mut Issuer<'k>, ends: &mut LeftEnd<'k>) {
    let stage = ends.wait(t).open(t);
    let _ = stage.operands();
    stage.release_by_commit(t);
}

fn main() {}
