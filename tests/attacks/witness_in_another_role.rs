//! A witness of one thread opens data for another.

use baton::atomic::ByAcquire;
use baton::prelude::*;
use baton::protocol::Arrival;
use baton::token::Role;

type Adder<'k> = Thread<'k, Role<0>>;

fn hand_over<'k>(warp: Warp<'k, Role<1>>, arrival: Arrival<u32, Gpu, Adder<'k>, ByAcquire>) {
    warp.elect(move |mut t| drop(arrival.last(&mut t)));
}

fn main() {}
