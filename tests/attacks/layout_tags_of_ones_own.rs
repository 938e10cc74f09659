//! The tag of a field that is another's: one end would fit both rings.

use baton::layout::Tag;

enum Mine {}

impl Tag for Mine {
    const INDEX: usize = 0;
}

fn main() {}
