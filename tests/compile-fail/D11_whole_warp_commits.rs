//! A whole warp commits what one thread commits.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn finish<'k>(warp: &mut MmaWarp<'k>, accumulators: Accumulators<'k, MmaWarp<'k>>) {
    let _issued = accumulators.finish(warp);
}

fn main() {
    let _ = finish;
}
