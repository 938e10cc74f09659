//! The elected lane loads tensor memory, which four warps load together.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(thread: &mut LoadThread<'k>, results: &mut Results<'k, LoadThread<'k>>) {
    let _acc = results.wait(thread);
}

fn main() {
    let _ = drain;
}
