//! One follower, in two roles.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn follow<'k>(
    warp: &mut Following<'k>,
    other: &mut Warp<'k, Role<2>>,
    follower: Follower<'k>,
) {
    if let Some((follower, _work)) = follower.next(warp) {
        let _ = follower.next(other);
    }
}

fn main() {
    let _ = follow;
}
