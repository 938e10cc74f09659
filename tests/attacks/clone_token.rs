//! A clone of a token.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn both<'k>(thread: &LoadThread<'k>) -> (LoadThread<'k>, LoadThread<'k>) {
    (thread.clone(), thread.clone())
}

fn main() {}
