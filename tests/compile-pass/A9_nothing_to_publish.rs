//! The producer fills what it hands on.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn make<'k>(wg: &mut Epilogue<'k>, makes: &mut Makes<'k>) {
    let stage = makes.acquire(wg).fill(wg, |_| bf16::from_f32(0.0));
    stage.fence_proxy_async(wg).publish(wg);
}

fn main() {
    let _ = make;
}
