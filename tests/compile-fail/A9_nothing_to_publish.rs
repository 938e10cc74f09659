//! Hands an empty stage on.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn make<'k>(wg: &mut Epilogue<'k>, makes: &mut Makes<'k>) {
    makes.acquire(wg).publish(wg);
}

fn main() {
    let _ = make;
}
