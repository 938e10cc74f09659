//! A token made with the literal of its struct.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use core::marker::PhantomData;

fn forge<'k>() -> Thread<'k, Role<1>> {
    Thread(PhantomData, PhantomData, PhantomData)
}

fn main() {}
