//! A role captures a region through a shared reference.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn capture<'k>(cta: Threads<'k>, sums: &'k Sums<'k>) {
    let _ = cta.roles((warpgroup(move |_| {
        let _ = sums;
        drop(sums)
    }),));
}

fn main() {}
