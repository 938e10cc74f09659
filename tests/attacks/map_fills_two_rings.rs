//! Loads through one map into two rings.

#[path = "../fixture/group.rs"]
mod fixture;
use fixture::*;

fn load<'k>(
    t: &mut LoadThread<'k>,
    loads: &mut Loads<'k>,
    others: &mut OtherLoads<'k>,
    map: Map<'k, MapReady>,
) {
    let stage = loads.acquire(t);
    let map = map.load(t, stage, 0, 0);
    let stage = others.acquire(t);
    let _map = map.load(t, stage, 0, 0);
}

fn main() {
    let _ = load;
}
