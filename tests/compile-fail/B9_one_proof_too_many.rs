//! A proof more than the layout has fields to close.

#[path = "../fixture/closes.rs"]
mod fixture;
use fixture::*;

fn leave<'k>(joined: Threads<'k>, ring: Loaded<'k>, out: Stored<'k>, again: Stored<'k>) -> Exit<'k> {
    joined.exit((ring, out, again))
}

fn main() {
    let _ = leave;
}
