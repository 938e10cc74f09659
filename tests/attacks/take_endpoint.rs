//! An end taken out of a reference.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn take<'k>(loads: &mut Loads<'k>) -> Loads<'k> {
    core::mem::take(loads)
}

fn main() {}
