//! Ends the instructions of a pair while an accumulator is held.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    leader: PairLeader<'k>,
    mut accumulators: Producer<'k>,
    stages: &mut Operands<'k>,
) -> Finished<'k, Issuing<smem::acc>> {
    let mut acc = accumulators.acquire(thread, leader);
    let stage = stages.wait_for_both(thread, leader);
    acc.mma(thread, stage).release_by_commit(thread);
    let finished = accumulators.finish(thread);
    acc.commit(thread);
    finished
}

fn main() {
    let _ = multiply;
}
