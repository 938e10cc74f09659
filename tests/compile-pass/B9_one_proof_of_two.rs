//! Each field's proof, in the order of the fields.

#[path = "../fixture/closes.rs"]
mod fixture;
use fixture::*;

fn leave<'k>(joined: Threads<'k>, ring: Loaded<'k>, out: Stored<'k>) -> Exit<'k> {
    joined.exit((ring, out))
}

fn main() {
    let _ = leave;
}
