//! Hands on an operand that nobody has stored.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Makers<'k>, made: &mut Made<'k>) {
    let p = made.acquire(wg);
    p.publish(wg);
}

fn main() {
    let _ = multiply;
}
