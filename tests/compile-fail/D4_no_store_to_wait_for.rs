//! Waits for a store that nobody has begun.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

pub fn make<'k>(wg: &mut Makers<'k>, made: &mut Made<'k>) {
    let p = made.acquire(wg);
    let p = p.wait_st(wg);
    p.fence_before_thread_sync(wg).publish(wg);
}

fn main() {}
