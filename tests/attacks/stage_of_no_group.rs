//! A stage that no instruction reads, in a group: the wait would give it back as multiplied.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn commit<'k>(
    wg: &mut Threads<'k>,
    sum: Sum<'k, Issued>,
    stage: Slot<'k, smem::ab, Ring, Threads<'k>, Full>,
) {
    sum.commit_group(wg, stage);
}

fn main() {}
