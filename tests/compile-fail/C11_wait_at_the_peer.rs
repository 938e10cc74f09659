//! Waits on the barrier of the other CTA until the stage was taken.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn give<'k>(cta: &mut Threads<'k>, giving: &mut Giving<'k>) {
    for round in 0..4 {
        let passed = giving.acquire(cta).fill(cta, |i| i + round).publish::<Cluster, _>(cta);
        passed.wait(cta);
    }
}

fn main() {
    let _ = give;
}
