//! Everybody's contributions, for one that was not the last.

use baton::atomic::ByAcquire;
use baton::held::Final;
use baton::prelude::*;
use baton::protocol::Arrival;
use baton::token::Role;

type Adder<'k> = Thread<'k, Role<0>>;

fn total<'k>(
    thread: &mut Adder<'k>,
    arrival: Arrival<u32, Gpu, Adder<'k>, ByAcquire>,
) -> Final<u32, Adder<'k>> {
    arrival.last(thread)
}

fn main() {}
