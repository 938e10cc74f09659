//! Gives tensor memory back that the other CTA's instructions may still use.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

use baton::layout::Claimed;

fn give_back<'k>(
    mut joined: Joined<'k, Claimed<Smem>, 192>,
    memory: PairMemory<'k, smem::acc>,
    issued: Finished<'k, Issuing<smem::acc>>,
    drained: Finished<'k, Draining<smem::acc>>,
) {
    let _ = memory.dealloc(&mut joined, issued, drained);
}

fn main() {
    let _ = give_back;
}
