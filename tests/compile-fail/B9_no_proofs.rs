//! No proof at all, where a ring and a staging buffer need one each.

#[path = "../fixture/closes.rs"]
mod fixture;
use fixture::*;

fn leave<'k>(joined: Threads<'k>, _: Loaded<'k>, _: Stored<'k>) -> Exit<'k> {
    joined.exit(())
}

fn main() {
    let _ = leave;
}
