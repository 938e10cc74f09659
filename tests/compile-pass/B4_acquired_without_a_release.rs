//! The release stands behind the edit.

#[path = "../fixture/group.rs"]
mod fixture;
use fixture::*;

fn load<'k>(t: &mut LoadThread<'k>, loads: &mut Loads<'k>, map: Map<'k>, next: ReadOnly<bf16>) {
    let map = map.point_at(t, next, 4096, 64, 64).fence_release(t).fence_acquire(t);
    let stage = loads.acquire(t);
    map.load(t, stage, 0, 0);
}

fn main() {
    let _ = load;
}
