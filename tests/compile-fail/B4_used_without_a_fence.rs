//! Loads through a tensor map that was just edited.

#[path = "../fixture/group.rs"]
mod fixture;
use fixture::*;

fn load<'k>(t: &mut LoadThread<'k>, loads: &mut Loads<'k>, map: Map<'k>, next: ReadOnly<bf16>) {
    let map = map.point_at(t, next, 4096, 64, 64);
    let stage = loads.acquire(t);
    map.load(t, stage, 0, 0);
}

fn main() {
    let _ = load;
}
