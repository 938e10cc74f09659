//! A warp reads from the ring of another set of threads.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn read<'k>(writer: &mut LoadWarp<'k>, reader: &mut MmaWarp<'k>, reads: &mut Reads<'k>) -> u32 {
    let stage = reads.wait(writer);
    let first = stage.get(0);
    stage.release(reader);
    first
}

fn main() {
    let _ = read;
}
