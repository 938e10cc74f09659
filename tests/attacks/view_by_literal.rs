//! Makes a view of what no stage holds.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>() -> Operand<'k, Tile<bf16, 64, 64>, Issuer<'k>, ByMma> {
    Operand { ..panic!() }
}

fn main() {
    let _ = multiply;
}
