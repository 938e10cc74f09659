//! The buffer is opened first.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn store<'k>(wg: &mut Epilogue<'k>, buffer: Buffer<'k>, c: C) {
    buffer.open(wg).fence_proxy_async(wg).store(wg, c.at(0, 0)).finish(wg);
}

fn main() {
    let _ = store;
}
