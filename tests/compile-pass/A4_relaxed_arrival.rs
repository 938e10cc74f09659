//! The `atom` releases.

use baton::protocol::Contribution;
use baton::path::Written;
use baton::prelude::*;
use baton::sem::Release;
use baton::token::Role;

type Adder<'k> = Thread<'k, Role<0>>;

fn publish<'k>(thread: &mut Adder<'k>, part: Contribution<u32, Gpu, Adder<'k>, Written>) {
    part.arrive::<Release, _>(thread);
}

fn main() {
    let _ = publish;
}
