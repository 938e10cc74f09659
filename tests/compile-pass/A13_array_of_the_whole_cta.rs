//! Takes the elements that another CTA's role would own.

#[path = "../fixture/takeover.rs"]
mod fixture;
use baton::takeover::Work;
use fixture::*;

fn place<'k>(
    warp: &mut Following<'k>,
    work: &Work<'k, smem::tiles, Following<'k>>,
    numbers: &mut GlobalPtr<u32, TheWarp<1>>,
) {
    work.partition(warp, numbers).put(0, 1);
}

fn main() {
    let _ = place;
}
