//! Waits until the bulk store has read its source.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn store<'k>(wg: &mut Epilogue<'k>, buffer: Buffer<'k>, c: C) {
    let mut staging = buffer.open(wg).fence_proxy_async(wg).store(wg, c.at(0, 0)).wait_group_read(wg);
    staging.put(wg, 0, [0.0; 64]);
    staging.finish(wg);
}

fn main() {
    let _ = store;
}
