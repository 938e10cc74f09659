//! Takes the ends of a relay twice.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn twice<'k>(values: baton::relay::RelayPart<'k, smem::values, 2, u32, 64, 2>) {
    let _first = values.split::<Threads<'k>, Threads<'k>>();
    let _second = values.split::<Threads<'k>, Threads<'k>>();
}

fn main() {
    let _ = twice;
}
