//! Reads what the grid before may still be writing.

use baton::prelude::*;
use baton::previous::Dependent;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn first(cta: &mut Threads<'_>, input: Dependent<ReadOnly<u32>>) -> u32 {
    input.after(cta).get(0)
}

fn main() {
    let _ = first;
}
