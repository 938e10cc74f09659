//! The elected thread goes on with an end that its warp has used.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn capture<'k>(mut warp: MmaWarp<'k>, mut reads: Reads<'k>) {
    reads.wait(&mut warp).release(&mut warp);
    warp.elect(move |mut t| reads.wait(&mut t).release(&mut t));
}

fn main() {}
