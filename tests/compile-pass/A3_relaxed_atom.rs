//! An acquiring fence makes the `atom` an acquire pattern.

use baton::protocol::Contribution;
use baton::path::Written;
use baton::prelude::*;
use baton::sem::Release;
use baton::token::Role;

type Adder<'k> = Thread<'k, Role<0>>;

fn total<'k>(thread: &mut Adder<'k>, part: Contribution<u32, Gpu, Adder<'k>, Written>) -> u32 {
    let arrival = part.arrive::<Release, _>(thread).fence_acquire::<Gpu, _>(thread);
    let Some(all) = arrival.last(thread) else { return 0 };
    (0..all.len()).map(|i| all.get(i)).sum()
}

fn main() {
    let _ = total;
}
