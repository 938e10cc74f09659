//! Edits a tensor map while the copies that use it are under way.

#[path = "../fixture/group.rs"]
mod fixture;
use fixture::*;

fn load<'k>(
    t: &mut LoadThread<'k>,
    loads: &mut Loads<'k>,
    map: Map<'k, MapReady>,
    next: ReadOnly<bf16>,
) {
    let stage = loads.acquire(t);
    let map = map.load(t, stage, 0, 0);
    let _map = map.point_at(t, next, 4096, 64, 64);
}

fn main() {
    let _ = load;
}
