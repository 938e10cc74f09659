//! The proof of one field of two.

#[path = "../fixture/closes.rs"]
mod fixture;
use fixture::*;

fn leave<'k>(joined: Threads<'k>, ring: Loaded<'k>, _: Stored<'k>) -> Exit<'k> {
    joined.exit((ring,))
}

fn main() {
    let _ = leave;
}
