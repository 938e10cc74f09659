//! A staging buffer that two sets of threads open.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn open<'k>(wg: &mut Epilogue<'k>, thread: &mut LoadThread<'k>, buffer: Buffer<'k>) {
    let _mine = buffer.open(wg);
    let _yours = buffer.open(thread);
}

fn main() {}
