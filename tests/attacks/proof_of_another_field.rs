//! The proof of one field for another.

use baton::layout::Claimed;
use baton::prelude::*;
use baton::token::{Finished, Joined, StoresOf};

type Out = Tile<f32, 128, 64>;
baton::shared! { pub struct Smem in smem { c: Staging<Out>, d: Staging<Out> } }

fn leave<'k>(
    joined: Joined<'k, Claimed<Smem>, 128>,
    c: Finished<'k, StoresOf<smem::c>>,
    again: Finished<'k, StoresOf<smem::c>>,
) -> Exit<'k> {
    joined.exit((c, again))
}

fn main() {}
