//! A region taken out of a reference, and left there.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

fn twice<'k>(cta: &mut Threads<'k>, sums: &mut Sums<'k>) {
    (*sums).fill(cta, |i| i).arrive(cta).wait(cta).close(cta);
}

fn main() {}
