//! A copy of registers that instructions under way write.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn copies<'k>(sum: Sum<'k, Committed>) -> [Sum<'k, Committed>; 2] {
    [sum.clone(), sum]
}

fn main() {}
