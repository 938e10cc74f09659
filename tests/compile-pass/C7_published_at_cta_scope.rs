//! The arrival is at the scope of the cluster.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn give<'k>(cta: &mut Threads<'k>, giving: &mut Giving<'k>) {
    giving.acquire(cta).fill(cta, |i| i).publish::<Cluster, _>(cta);
}

fn main() {
    let _ = give;
}
