//! A role captures a region of the whole CTA.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn capture<'k>(cta: Threads<'k>, sums: Sums<'k>) {
    let _ = cta.roles((warpgroup(move |_| drop(sums)),));
}

fn main() {}
