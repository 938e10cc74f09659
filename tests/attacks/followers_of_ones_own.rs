//! A takeover of two followers that is split into one, by a tag of one's own; and into a type of one's own.

use baton::prelude::*;
use baton::takeover::{Asker, Follower, Followers, Granted, Takeover};
use baton::token::Role;

baton::shared! {
    pub struct Two in two { tiles: Takeover<2, 2> }
}

type One<'k> = (Follower<'k, two::tiles, Warp<'k, Role<1>>, 2, 1, 1>,);
struct Mine;

impl<'k> Followers<'k, two::tiles, 2, 2, 1> for One<'k> {}
impl<'k> Followers<'k, two::tiles, 2, 2, 1> for Mine {}

fn split<'k>(parts: two::Parts<'k>) {
    let (_, _): (Asker<'k, two::tiles, Thread<'k, Role<0>>, Granted, 2, 2, 1>, One<'k>) =
        parts.tiles.split();
}

fn main() {}
