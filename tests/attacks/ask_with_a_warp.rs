//! Asks with all lanes of a warp, each for a cluster.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn ask<'k>(
    warp: &mut Following<'k>,
    tiles: TakeoverPart<'k, smem::tiles, 2, 1, 1>,
) {
    let (asker, (_follower,)) = tiles.split();
    let _: Option<Follower<'k>> = Some(_follower);
    let _ = asker.ask(warp).answer(warp);
}

fn main() {
    let _ = ask;
}
