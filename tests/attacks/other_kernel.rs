//! A stage of one kernel awaited with a thread of another.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn mix<'a, 'b>(thread: &mut LoadThread<'a>, loads: &mut Loads<'b>, a: A) {
    loads.acquire(thread).load(thread, (a.at(0, 0), a.at(0, 0)));
}

fn main() {}
