//! The root token, from the function that the entry calls.

use baton::prelude::*;
use baton::token::RootToken;

fn forge<'k>() -> Cta<'k, NoShared, 32> {
    RootToken::root()
}

fn main() {}
