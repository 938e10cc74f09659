//! Shows the end of another ring for the loads through a map.

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
    let _map = map.load(t, stage, 0, 0).wait_loads(t, others);
}

fn main() {
    let _ = load;
}
