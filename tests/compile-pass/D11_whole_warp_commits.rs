//! One elected thread commits.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn finish<'k>(thread: &mut MmaThread<'k>, accumulators: Accumulators<'k>) {
    let _issued = accumulators.finish(thread);
}

fn main() {
    let _ = finish;
}
