//! Pushes a stage twice, so that more bytes complete on its barrier than it expects.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn give<'k>(cta: &mut Threads<'k>, giving: &mut Giving<'k>) {
    let filled = giving.acquire(cta).fill(cta, |i| i);
    filled.fill(cta, |i| i + 1).publish::<Cluster, _>(cta);
}

fn main() {}
