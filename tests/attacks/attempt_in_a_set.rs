//! Several threads act on one answer that each of them asked for.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn first<'k>(warp: &mut MmaWarp<'k>, reads: &mut Reads<'k>) -> u32 {
    match reads.try_wait(warp).completed() {
        Ok(stage) => stage.get(0),
        Err(_) => 0,
    }
}

fn main() {}
