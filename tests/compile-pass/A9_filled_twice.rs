//! Each stage is acquired before it is filled.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn write<'k>(warp: &mut LoadWarp<'k>, words: &mut Writes<'k>) {
    let stage = words.acquire(warp);
    stage.fill(warp, |i| i).publish(warp);
    let stage = words.acquire(warp);
    stage.fill(warp, |i| i + 1).publish(warp);
}

fn main() {
    let _ = write;
}
