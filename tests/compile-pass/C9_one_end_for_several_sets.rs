//! Takes an end for each of the sets that drain the ring.

#[path = "../fixture/shared_ring.rs"]
mod fixture;
use fixture::*;

fn begin<'k>(ring: Part<'k>, sets: (&mut Upper<'k>, &mut Lower<'k>), loads: &mut Loads<'k>) {
    let (mut filling, (mut upper, mut lower)) = ring.split_among();
    let _ = filling.acquire(loads);
    let _ = upper.wait(sets.0);
    let _ = lower.wait(sets.1);
}

fn main() {
    let _ = begin;
}
