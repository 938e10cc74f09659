//! Takes the tuple apart into more followers than the field says.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn follow<'k>(warp: &mut Following<'k>, tiles: TakeoverPart<'k, smem::tiles, 2, 1, 1>) {
    let (_asker, (one, other)) = tiles.split::<Asking<'k>, _>();
    let _: (Follower<'k>, Follower<'k>) = (one, other);
    let _ = warp;
}

fn main() {
    let _ = follow;
}
