//! A token through a pointer to nothing.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn forge<'k>() -> Thread<'k, Role<1>> {
    core::ptr::read(core::ptr::dangling())
}

fn main() {}
