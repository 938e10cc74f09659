//! Reads through one address what was written through another, with a barrier between and no more.

use baton::alias::Aliases;
use baton::path::Empty;
use baton::prelude::*;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn exchange<'k>(cta: &mut Threads<'k>, array: Aliases<'k, u32, Threads<'k>, Empty>) -> u32 {
    let array = array.fill(cta, |i| i as u32).sync(cta);
    array.get(0)
}

fn main() {
    let _ = exchange;
}
