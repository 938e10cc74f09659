//! Waits for what another CTA wrote at a scope that does not reach that.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn take<'k>(cta: &mut Threads<'k>, taking: &mut Taking<'k>) -> u32 {
    let stage = taking.wait::<baton::scope::Cta, _>(cta);
    let first = stage.get(0);
    stage.release::<Cluster, _>(cta);
    first
}

fn main() {
    let _ = take;
}
