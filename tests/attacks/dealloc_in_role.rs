//! A role deallocates the tensor memory that the others use.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::accumulator::Tensor;

fn dealloc<'k>(wg: &mut Epilogue<'k>, tensor: Tensor<'k, smem::acc>, results: Results<'k>) {
    let drained = results.finish(wg);
    tensor.dealloc(wg, drained, drained);
}

fn main() {}
