//! The barrier on which the other CTA arrives when it has taken a stage is this one's.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn give<'k>(cta: &mut Threads<'k>, giving: &mut Giving<'k>) {
    for round in 0..4 {
        giving.acquire(cta).fill(cta, |i| i + round).publish::<Cluster, _>(cta);
    }
}

fn main() {
    let _ = give;
}
