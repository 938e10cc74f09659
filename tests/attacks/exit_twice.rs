//! The joined CTA exits twice.

use baton::layout::Claimed;
use baton::prelude::*;
use baton::token::Joined;

fn twice<'k>(joined: Joined<'k, Claimed<NoShared>, 32>) -> (Exit<'k>, Exit<'k>) {
    (joined.exit(()), joined.exit(()))
}

fn main() {}
