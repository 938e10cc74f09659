//! A token out of no bytes.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use core::mem::MaybeUninit;

fn forge<'k>() -> Thread<'k, Role<1>> {
    MaybeUninit::uninit().assume_init()
}

fn main() {}
