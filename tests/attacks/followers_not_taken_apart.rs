//! Follows through the tuple of the followers, which nothing has taken apart: the compiler cannot know how many it has.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn follow<'k>(warp: &mut Following<'k>, tiles: TakeoverPart<'k, smem::tiles, 2, 1, 1>) {
    let (_asker, follower) = tiles.split::<Asking<'k>, _>();
    follower.own().0.next(warp);
}

fn main() {
    let _ = follow;
}
