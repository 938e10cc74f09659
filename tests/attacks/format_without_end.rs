//! A line whose text has conversions of which its arguments know nothing.

use baton::print::{Line, Piece, print_line};

struct Reads;

impl Line for Reads {
    const PIECES: &'static [Piece] = &[Piece::Text("%s %s %s")];
}

fn main() {
    print_line::<Reads, _, 16>(());
}
