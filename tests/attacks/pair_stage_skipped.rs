//! Hands stages back that the pair has not multiplied: behind the fence, and together with the store of a result.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

use baton::global::Store;
use baton::path::WrittenFenced;
use baton::staging::StagingBuffer;

type C = Tile<f32, 128, 64>;

fn skip<'k>(thread: &mut Issuer<'k>, stages: &mut Operands<'k>) {
    stages.wait(thread).fence_proxy_async(thread).release(thread);
}

fn store<'k>(
    thread: &mut Issuer<'k>,
    stages: &mut Operands<'k>,
    staging: StagingBuffer<'k, smem::other, C, Issuer<'k>, WrittenFenced>,
    c: TensorMap<C, Store>,
) {
    let stage = stages.wait(thread).fence_proxy_async(thread);
    let _ = staging.store_and_release(thread, c.at(0, 0), stage);
}

fn main() {}
