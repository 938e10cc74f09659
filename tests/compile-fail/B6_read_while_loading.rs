//! Reads a stage while the bulk copy into it is under way.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn first<'k>(thread: &mut LoadThread<'k>, landing: &mut Landing<'k>, a: A) -> bf16 {
    let stage = landing.acquire(thread).load(thread, a.at(0, 0));
    stage.get(0)
}

fn main() {
    let _ = first;
}
