//! A warp that says that it is the thread which it elected.

use baton::token::{Role, SameSet, Thread, Warp};

impl<'k> SameSet<Thread<'k, Role<0>>> for Warp<'k, Role<0>> {}

fn main() {}
