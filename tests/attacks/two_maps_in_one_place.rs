//! Makes two maps of one array of places.

#[path = "../fixture/group.rs"]
mod fixture;
use baton::global::TheMaps;
use fixture::*;

fn two<'k>(t: &mut LoadThread<'k>, places: GlobalPtr<u64, TheMaps>, template: TensorMap<A>) {
    let _first = EditedMap::open(t, places, template);
    let _second = EditedMap::open(t, places, template);
}

fn main() {
    let _ = two;
}
