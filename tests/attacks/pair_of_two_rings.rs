//! Names one ring to rank 0 of a pair and another to rank 1: its instructions would read a stage that nobody has handed over.

#[path = "../fixture/pair_product.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 192, cluster = 2)]
pub fn multiply(
    cta: Cta<'_, Smem, 192>,
    a: TensorMap<Tile<bf16, 128, 64>>,
    b: TensorMap<Tile<bf16, 32, 64>>,
) -> Exit<'_> {
    let first = cta.cluster_rank().0 == 0;
    let (cta, smem::Parts { ab, other, acc, .. }) = cta.claim();
    let ((mut loads, stages), (mut others, other_stages)) = (ab.split(), other.split());
    if first {
        let (accumulators, results, tensor) = acc.split();
        let (joined, (drained, loaded, issued)) = cta.roles((
            warpgroup(move |mut wg| results.finish(&mut wg)),
            warp(move |w| {
                w.elect(move |mut t| {
                    loads.acquire(&mut t).load(&mut t, (a.at(0, 0), b.at(0, 0)));
                    (loads.finish(&mut t), others.finish(&mut t))
                })
            }),
            warp(move |w| w.elect(move |mut t| multiply_one(&mut t, accumulators, stages))),
        ));
        let mut joined = joined.join_peers();
        let deallocated = tensor.dealloc(&mut joined, issued, drained);
        joined.exit((loaded.0, loaded.1, deallocated))
    } else {
        let (accumulators, results, tensor) = acc.split();
        let (joined, (drained, loaded, issued)) = cta.roles((
            warpgroup(move |mut wg| results.finish(&mut wg)),
            warp(move |w| {
                w.elect(move |mut t| {
                    others.acquire(&mut t).load(&mut t, (a.at(128, 0), b.at(32, 0)));
                    loads.acquire(&mut t).load(&mut t, (a.at(128, 0), b.at(32, 0)));
                    (loads.finish(&mut t), others.finish(&mut t))
                })
            }),
            warp(move |w| w.elect(move |mut t| multiply_one(&mut t, accumulators, other_stages))),
        ));
        let mut joined = joined.join_peers();
        let deallocated = tensor.dealloc(&mut joined, issued, drained);
        joined.exit((loaded.0, loaded.1, deallocated))
    }
}

fn multiply_one<'k, RingTag>(
    thread: &mut Issuer<'k>,
    mut accumulators: PairProducer<'k, smem::acc, Issuer<'k>, RingTag, 2, 64, 2>,
    mut stages: Consumer<'k, RingTag, Ring, Issuer<'k>, 2>,
) -> Finished<'k, Issuing<smem::acc>> {
    let mut acc = accumulators.acquire(thread);
    let stage = stages.wait(thread);
    acc.mma(thread, stage);
    acc.commit(thread);
    accumulators.finish(thread)
}

fn main() {}
