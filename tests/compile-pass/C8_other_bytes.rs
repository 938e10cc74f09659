//! Loads exactly the tiles of the stage.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn load<'k>(thread: &mut LoadThread<'k>, loads: &mut Loads<'k>, a: A) {
    loads.acquire(thread).load(thread, (a.at(0, 0), a.at(0, 64)));
}

fn main() {
    let _ = load;
}
