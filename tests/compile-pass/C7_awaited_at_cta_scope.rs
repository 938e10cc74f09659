//! The wait is at the scope of the cluster.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn take<'k>(cta: &mut Threads<'k>, taking: &mut Taking<'k>) -> u32 {
    let stage = taking.wait::<Cluster, _>(cta);
    let first = stage.get(0);
    stage.release::<Cluster, _>(cta);
    first
}

fn main() {
    let _ = take;
}
