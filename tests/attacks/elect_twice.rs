//! One warp elects two threads with the same end.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn twice<'k>(warp: LoadWarp<'k>, mut loads: Loads<'k>, a: A) {
    warp.elect(move |mut t| {
        loads.acquire(&mut t).load(&mut t, (a.at(0, 0), a.at(0, 0)));
    });
    warp.elect(move |mut t| {
        loads.acquire(&mut t).load(&mut t, (a.at(0, 0), a.at(0, 0)));
    });
}

fn main() {}
