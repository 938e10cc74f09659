//! An end used after the proof that it has ended.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn load<'k>(thread: &mut LoadThread<'k>, mut loads: Loads<'k>, a: A) {
    let _loaded = loads.finish(thread);
    loads.acquire(thread).load(thread, (a.at(0, 0), a.at(0, 0)));
}

fn main() {}
