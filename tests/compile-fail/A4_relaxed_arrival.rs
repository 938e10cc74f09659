//! Publishes with a relaxed `atom`.

use baton::protocol::Contribution;
use baton::path::Written;
use baton::prelude::*;
use baton::sem::Relaxed;
use baton::token::Role;

type Adder<'k> = Thread<'k, Role<0>>;

fn publish<'k>(thread: &mut Adder<'k>, part: Contribution<u32, Gpu, Adder<'k>, Written>) {
    part.arrive::<Relaxed, _>(thread);
}

fn main() {
    let _ = publish;
}
