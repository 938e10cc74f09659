//! A role takes elements that belong to another role's threads.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn work<'k>(
    warp: &mut Following<'k>,
    follower: Follower<'k>,
    mut array: GlobalPtr<u32, TheWarp<2>>,
) {
    let (_follower, work) = follower.own();
    for mut place in work.partition(warp, &mut array) {
        place.put(1);
    }
}

fn main() {
    let _ = work;
}
