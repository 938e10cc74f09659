//! The proofs of two fields, the second first.

#[path = "../fixture/closes.rs"]
mod fixture;
use fixture::*;

fn leave<'k>(joined: Threads<'k>, ring: Loaded<'k>, out: Stored<'k>) -> Exit<'k> {
    joined.exit((out, ring))
}

fn main() {
    let _ = leave;
}
