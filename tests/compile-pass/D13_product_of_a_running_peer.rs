//! The roles of both CTAs have ended.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

use baton::layout::Claimed;

fn give_back<'k>(
    joined: Joined<'k, Claimed<Smem>, 192>,
    memory: PairMemory<'k, smem::acc>,
    issued: Finished<'k, Issuing<smem::acc>>,
    drained: Finished<'k, Draining<smem::acc>>,
) {
    let mut joined = joined.join_peers();
    let _ = memory.dealloc(&mut joined, issued, drained);
}

fn main() {
    let _ = give_back;
}
