//! Loads one tile into a stage whose barrier expects two.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn load<'k>(thread: &mut LoadThread<'k>, loads: &mut Loads<'k>, a: A) {
    loads.acquire(thread).load(thread, a.at(0, 0));
}

fn main() {
    let _ = load;
}
