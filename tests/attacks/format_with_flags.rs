//! A line whose flags are conversions of their own.

use baton::print::{Line, Piece, display, print_line};

struct Reads;

impl Line for Reads {
    const PIECES: &'static [Piece] = &[Piece::Value("s %*")];
}

fn main() {
    print_line::<Reads, _, 16>((display(1u32),));
}
