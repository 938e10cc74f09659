//! The read-only cache has what nobody wrote since the launch began, and ordinary loads the rest.

use baton::prelude::*;
use baton::previous::{Dependent, PreviousGrid};

type Threads<'k> = Cta<'k, NoShared, 128>;

fn first(cta: &mut Threads<'_>, input: Dependent<ReadOnly<u32>>, scale: ReadOnly<u32>) -> u32 {
    let previous = PreviousGrid::wait(cta);
    input.after(&previous).get(0) * scale.get_nc(0)
}

fn main() {
    let _ = first;
}
