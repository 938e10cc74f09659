//! The set that stored waits.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn store<'k>(wg: &mut Epilogue<'k>, other: &mut LoadThread<'k>, buffer: Buffer<'k>, c: C) {
    let _ = other;
    let staging = buffer.open(wg).fence_proxy_async(wg).store(wg, c.at(0, 0));
    staging.wait_group_read(wg).finish(wg);
}

fn main() {
    let _ = store;
}
