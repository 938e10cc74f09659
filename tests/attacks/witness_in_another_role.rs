//! A witness of one thread opens data for another.

use baton::atomic::{Arrival, ByAcquire};
use baton::prelude::*;
use baton::token::Role;

type Adder<'k> = Thread<'k, Role<0>>;

fn hand_over<'k>(warp: Warp<'k, Role<1>>, arrival: Arrival<'k, u32, Gpu, Adder<'k>, ByAcquire>) {
    warp.elect(move |_| drop(arrival.last()));
}

fn main() {}
