//! Ends the instructions of a pair while an accumulator is held.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    mut accumulators: Producer<'k>,
    stages: &mut Operands<'k>,
) -> Finished<'k, Issuing<smem::acc>> {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage);
    let finished = accumulators.finish(thread);
    acc.commit(thread);
    finished
}

fn main() {
    let _ = multiply;
}
