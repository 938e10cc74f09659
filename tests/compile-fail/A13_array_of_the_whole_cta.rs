//! Takes the elements that another CTA's role would own of an array that belongs to whole CTAs.

#[path = "../fixture/takeover.rs"]
mod fixture;
use baton::takeover::Work;
use fixture::*;

fn place<'k>(
    warp: &mut Following<'k>,
    work: &Work<'k, smem::tiles, Following<'k>>,
    numbers: &mut GlobalPtr<u32>,
) {
    work.partition(warp, numbers).put(0, 1);
}

fn main() {
    let _ = place;
}
