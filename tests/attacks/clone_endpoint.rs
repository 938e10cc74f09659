//! A clone of an end of a ring.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn both<'k>(loads: &Loads<'k>) -> Loads<'k> {
    loads.clone()
}

fn main() {}
