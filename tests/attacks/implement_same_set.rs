//! A warp that says that it is a set of another name.

use baton::token::{Role, SameSet, Warp};

struct Another;

impl SameSet<Another> for Warp<'_, Role<0>> {}

fn main() {}
