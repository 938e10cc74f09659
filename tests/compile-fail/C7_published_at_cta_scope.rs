//! Arrives on the other CTA's barrier at a scope that does not reach it.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn give<'k>(cta: &mut Threads<'k>, giving: &mut Giving<'k>) {
    giving.acquire(cta).fill(cta, |i| i).publish::<baton::scope::Cta, _>(cta);
}

fn main() {
    let _ = give;
}
