//! The token of before the claim, claimed again.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn twice<'k>(cta: Cta<'_, Smem, 192>) {
    let first = cta.claim();
    let second = cta.claim();
    let _ = (first, second);
}

fn main() {}
