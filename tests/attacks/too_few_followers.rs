//! Takes two followers where each answer is handed back by one.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn split<'k>(tiles: TakeoverPart<'k, smem::tiles, 2, 1, 1>) {
    let (_asker, (first, second)) = tiles.split::<Asking<'k>, (Follower<'k>, Follower<'k>)>();
    let _ = (first, second);
}

fn main() {
    let _ = split;
}
