//! A way to fill a stage that nothing has to wait for.

use baton::stages::Fill;

struct Somehow;

impl Fill for Somehow {
    type Closed<'k, Tag> = ();
    const ASYNCHRONOUS: bool = false;
}

fn main() {}
