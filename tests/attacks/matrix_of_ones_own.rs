//! Says of a type of its own how it lies, and of a way that it reads operands.

use baton::operand::{Matrix, ReadsOperands};
use baton::prelude::*;

struct Own;

unsafe impl Matrix<64, 64> for Own {
    type Element = bf16;
    fn step(_: u32) -> u32 {
        1 << 20
    }
}
impl ReadsOperands for Own {
    type Open = baton::path::ReadByMma;
}

fn main() {}
