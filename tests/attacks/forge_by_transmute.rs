//! A token out of nothing of the same size.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn forge<'k>() -> Thread<'k, Role<1>> {
    core::mem::transmute(())
}

fn main() {}
