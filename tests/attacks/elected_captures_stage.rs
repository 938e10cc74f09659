//! The elected thread captures a stage that its warp holds.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn capture<'k>(mut warp: MmaWarp<'k>, mut reads: Reads<'k>) {
    let stage = reads.wait(&mut warp);
    warp.elect(move |_| {
        let _ = stage.get(0);
        core::mem::forget(stage);
    });
}

fn main() {}
