//! A kernel ends with the exit of another.

use baton::layout::Claimed;
use baton::prelude::*;
use baton::token::Joined;

fn leave<'a, 'b>(mine: Joined<'a, Claimed<NoShared>, 32>, _: Exit<'b>) -> Exit<'b> {
    mine.exit(())
}

fn main() {}
