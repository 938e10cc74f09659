//! Takes the one tile of a stage.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

pub fn view<'k>(t: &mut Issuer<'k>, ends: &mut LeftEnd<'k>) {
    let stage = ends.wait(t).open(t);
    let _ = stage.operand();
    stage.release_by_commit(t);
}

fn main() {}
