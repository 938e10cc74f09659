//! Everybody's contributions, for one that was not the last.

use baton::atomic::{All, Arrival, ByAcquire};
use baton::prelude::*;
use baton::token::Role;

type Adder<'k> = Thread<'k, Role<0>>;

fn total<'k>(arrival: Arrival<'k, u32, Gpu, Adder<'k>, ByAcquire>) -> All<'k, u32, Gpu, Adder<'k>> {
    arrival.last()
}

fn main() {}
