//! The set that holds the end reads.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn read<'k>(writer: &mut LoadWarp<'k>, reader: &mut MmaWarp<'k>, reads: &mut Reads<'k>) -> u32 {
    let _ = writer;
    let stage = reads.wait(reader);
    let first = stage.get(0);
    stage.release(reader);
    first
}

fn main() {
    let _ = read;
}
