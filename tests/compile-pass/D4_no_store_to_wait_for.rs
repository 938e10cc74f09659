//! Waits for the store.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

pub fn make<'k>(wg: &mut Makers<'k>, made: &mut Made<'k>) {
    let p = made.acquire(wg);
    let p = p.st::<32>(wg, 0, |i| bf16::from_f32(i as f32)).wait_st(wg);
    p.fence_before_thread_sync(wg).publish(wg);
}

fn main() {}
