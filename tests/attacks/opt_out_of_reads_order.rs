//! The opt-out of a fence, in safe code.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, arrivals: &mut Arrivals<'k>) {
    arrivals.wait(wg).assume_reads_ordered().release(wg);
}

fn main() {}
