//! A whole warp that says that it is one thread.

use baton::token::{Role, SingleThread, Warp};

impl SingleThread for Warp<'_, Role<0>> {}

fn main() {}
