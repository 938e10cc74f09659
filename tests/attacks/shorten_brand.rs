//! A token of a shorter life, for two kernels at once.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn shorten<'short, 'long: 'short>(thread: &'short mut LoadThread<'long>) -> &'short mut LoadThread<'short> {
    thread
}

fn main() {}
