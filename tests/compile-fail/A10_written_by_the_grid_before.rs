//! Reads through the read-only cache what the grid before wrote while this one was already running.

use baton::prelude::*;
use baton::previous::{Dependent, PreviousGrid};

type Threads<'k> = Cta<'k, NoShared, 128>;

fn first(cta: &mut Threads<'_>, input: Dependent<ReadOnly<u32>>) -> u32 {
    let previous = PreviousGrid::wait(cta);
    input.after(&previous).get_nc(0)
}

fn main() {
    let _ = first;
}
