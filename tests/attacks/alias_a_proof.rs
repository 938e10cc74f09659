//! The proof of one end passed for that of the other.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::accumulator::{Deallocated, Tensor};
use baton::layout::Claimed;
use baton::token::Joined;

fn dealloc<'k>(
    joined: &mut Joined<'k, Claimed<Smem>, 192>,
    tensor: Tensor<'k, smem::acc>,
    results: Results<'k>,
    wg: &mut Epilogue<'k>,
) -> Deallocated<'k, smem::acc> {
    let drained = results.finish(wg);
    tensor.dealloc(joined, drained, drained)
}

fn main() {}
