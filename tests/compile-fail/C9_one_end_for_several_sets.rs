//! Takes one end of a ring that two sets drain, whose stages come back when both have handed them back.

#[path = "../fixture/shared_ring.rs"]
mod fixture;
use fixture::*;

fn begin<'k>(ring: Part<'k>, loads: &mut Loads<'k>) {
    let (mut filling, _) = ring.split::<_, Upper<'k>, 4>();
    let _ = filling.acquire(loads);
}

fn main() {
    let _ = begin;
}
