//! A token through the other field of a union.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

union Forge<'k> {
    nothing: (),
    token: core::mem::ManuallyDrop<Thread<'k, Role<1>>>,
}

fn forge<'k>() -> core::mem::ManuallyDrop<Thread<'k, Role<1>>> {
    Forge { nothing: () }.token
}

fn main() {}
