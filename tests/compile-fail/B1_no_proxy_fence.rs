//! Hands what threads wrote to the tensor core without a proxy fence.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn make<'k>(wg: &mut Epilogue<'k>, makes: &mut Makes<'k>) {
    let stage = makes.acquire(wg).fill(wg, |_| bf16::from_f32(1.0));
    stage.publish(wg);
}

fn main() {
    let _ = make;
}
