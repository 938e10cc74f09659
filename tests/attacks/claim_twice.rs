//! Shared memory claimed twice.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn twice<'k>(cta: Cta<'_, Smem, 192>) {
    let (cta, first) = cta.claim();
    let (cta, second) = cta.claim();
    let _ = (cta, first, second);
}

fn main() {}
